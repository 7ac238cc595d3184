# Sourced by scripts/setup, run, test and check: where things are, how missing ones are installed. POSIX sh.
# shellcheck shell=sh disable=SC2034  # used by those that source this

PROJECT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
VENV=$PROJECT/.venv
VENV_DELTA=$PROJECT/.venv-delta
OLDER_SPARK=3.5.9  # the older Spark of the default run, as in tests/support/spark.py

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$*"
    exit 1
}

# Whether a comma-separated list names an item.
listed() {
    case ",$2," in
    *",$1,"*) return 0 ;;
    *) return 1 ;;
    esac
}

# ---------------------------------------------------------------- Python

# Whether this is a Python that the project runs on.
is_supported() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' > /dev/null 2>&1
}

# first_python [MODULE...]: PYTHON when it is set, else the newest one of PATH, if it has these modules.
first_python() {
    modules=$(printf 'import %s;' sys "$@")
    if [ -n "${PYTHON:-}" ]; then
        is_supported "$PYTHON" && "$PYTHON" -c "$modules" > /dev/null 2>&1 && printf '%s\n' "$PYTHON"
        return
    fi
    for candidate in python3.13 python3.12 python3.11 python3 python; do
        if is_supported "$candidate" && "$candidate" -c "$modules" > /dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

# A Python 3.11 to 3.13 that can make virtual environments; what it lacks is installed.
find_python() {
    first_python ensurepip venv && return
    if python=$(first_python); then
        number=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        need_package "$python (Python $number) cannot make virtual environments: its venv package is missing" \
            "python3-venv python$number-venv" "python$number-libs python3-libs" "python@$number" || exit 1
        first_python ensurepip venv || die "$python still cannot make virtual environments:" \
            "name another Python 3.11, 3.12 or 3.13 with PYTHON=/path/to/python3."
    elif [ -n "${PYTHON:-}" ]; then
        die "PYTHON=$PYTHON is not a Python 3.11, 3.12 or 3.13: name one of those."
    else
        need_package "Python 3.11, 3.12 or 3.13 was not found" \
            'python3.13-venv python3.12-venv python3.11-venv' 'python3.13 python3.12 python3.11' 'python@3.13' ||
            exit 1
        first_python ensurepip venv ||
            die "Python 3.11, 3.12 or 3.13 still was not found: name one with PYTHON=/path/to/python3."
    fi
}

# environment DIR STAMP FILE...: a virtual environment with these requirements; quick when it has them. With
# replaced_by=exec the calling shell becomes the program that makes it.
environment() {
    directory=$1
    stamp=$2
    shift 2
    wanted=$(cat "$@" | cksum)
    python=$directory/bin/python
    if [ "$(cat "$directory/.$stamp" 2> /dev/null)" = "$wanted" ] && "$python" -c '' > /dev/null 2>&1; then
        return 0
    fi
    # A whole environment is changed by its own Python: another one may not even be there.
    if [ ! -e "$directory/.made" ] || ! "$python" -c '' > /dev/null 2>&1; then
        python=$(find_python) || exit 1
    fi
    ${replaced_by:-} "$python" "$PROJECT/scripts/environment.py" "$directory" ".$stamp" "$wanted" "$@" || exit 1
}

# An environment with another PySpark: spark_environment 3.5.9 makes .venv-spark-3.5.9.
spark_environment() {
    case $1 in
    3.[345].[0-9]* | 4.[0-3].[0-9]*) ;;
    *) die "$1 is not a Spark release that the oracle knows: name one from 3.3 to 4.3 in full," \
        "for example 3.5.9 or 4.0.5." ;;
    esac
    SPARK_RELEASE=$1
    export SPARK_RELEASE
    environment "$PROJECT/.venv-spark-$1" stamp "$PROJECT/scripts/requirements-spark.txt"
}

# ------------------------------------------------------- system packages

# What runs a command as root: nothing, or sudo if it asks no password. Homebrew wants no root.
root_prefix() {
    [ "$1" != brew ] && [ "$(id -u)" != 0 ] || return 0
    sudo -n true > /dev/null 2>&1 && echo 'sudo -n'
}

# The first of these packages that the package manager knows.
first_known() {
    manager=$1
    shift
    for package in "$@"; do
        case $manager in
        # Not "apt-cache show": it also knows names that only another package mentions.
        apt-get) LC_ALL=C apt-cache policy "$package" | grep 'Candidate: [^(]' ;;
        dnf) dnf -q list "$package" ;;
        brew) brew info "$package" ;;
        esac > /dev/null 2>&1 < /dev/null && break
    done
    printf '%s\n' "$package"
}

# watched LABEL COMMAND...: with its progress in short when there is a Python for that, else with its own output.
watched() {
    label=$1
    shift
    if watcher=$(PYTHON='' first_python); then
        "$watcher" "$PROJECT/scripts/fetching.py" "$label" "$@" >&2
    else
        "$@" < /dev/null >&2
    fi
}

# need_package WHY APT DNF BREW: install the first known of these names, or say how to.
need_package() {
    why=$1
    for manager in apt-get dnf brew none; do
        shift
        command -v "$manager" > /dev/null 2>&1 && break
    done
    names=${1:-}
    if [ "$manager" = none ] || [ -z "$names" ]; then
        say "setup: $why; install it with this system's package manager."
        return 1
    fi
    if ! prefix=$(root_prefix "$manager"); then
        # shellcheck disable=SC2086
        say "setup: $why; install it with: sudo $manager install -y $(first_known "$manager" $names)"
        return 1
    fi
    # shellcheck disable=SC2086
    {
        if [ "$manager" = apt-get ]; then
            prefix="$prefix env DEBIAN_FRONTEND=noninteractive"
            watched "setup: apt-get update" $prefix apt-get update -q -o APT::Update::Error-Mode=any || true
            # What a killed apt-get left half done.
            [ -z "$(ls /var/lib/dpkg/updates 2> /dev/null)$(dpkg --audit 2> /dev/null)" ] ||
                watched "setup: dpkg --configure" $prefix dpkg --configure -a || true
        fi
        package=$(first_known "$manager" $names)
        say "setup: installing $package with $manager, because $why"
        case $manager in
        apt-get)
            watched "setup: installing $package" $prefix apt-get install -y -q ${apt_options:-} \
                -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$package"
            ;;
        dnf) watched "setup: installing $package" $prefix dnf install -y "$package" ;;
        brew) watched "setup: installing $package" brew install $package ;;
        esac
    }
}

# ------------------------------------------------------------------ Java

# The major version of the java that Spark would start; nothing when there is none.
java_major() {
    if [ -n "${JAVA_HOME:-}" ]; then
        java=$JAVA_HOME/bin/java
    else
        java=java
    fi
    "$java" -version 2>&1 | sed -n 's/.*version "\([0-9][0-9]*\).*/\1/p' | head -n 1
}

java_is_there() {
    major=$(java_major)
    [ -n "$major" ] && [ "$major" -ge 17 ]
}

# Homebrew's Java is not on PATH.
find_java_of_homebrew() {
    command -v brew > /dev/null 2>&1 || return 0
    for formula in openjdk@21 openjdk@17; do
        home=$(brew --prefix 2> /dev/null)/opt/$formula/libexec/openjdk.jdk/Contents/Home
        if [ -x "$home/bin/java" ]; then
            JAVA_HOME=$home
            export JAVA_HOME
            return 0
        fi
    done
}

need_java() {
    java_is_there && return 0
    find_java_of_homebrew
    java_is_there && return 0
    need_package "Java 17 or newer was not found (JAVA_HOME, PATH), and the tests start Spark and Kafka" \
        'openjdk-21-jre-headless openjdk-17-jre-headless' \
        'java-21-openjdk-headless java-17-openjdk-headless' 'openjdk@21' || return 1
    find_java_of_homebrew
    java_is_there && return 0
    say "setup: Java 17 or newer still was not found: name one with JAVA_HOME=/path."
    return 1
}

# -------------------------------------------------------------- Chromium

# The path of a Chromium or Chrome: CHROMIUM when it is set, else what PATH or macOS has.
find_chromium() {
    for candidate in ${CHROMIUM:-} chromium chromium-browser google-chrome google-chrome-stable; do
        if command -v "$candidate" > /dev/null 2>&1; then
            command -v "$candidate"
            return 0
        fi
    done
    for candidate in '/Applications/Chromium.app/Contents/MacOS/Chromium' \
        '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'; do
        if [ -x "$candidate" ]; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

need_chromium() {
    find_chromium > /dev/null && return 0
    need_package 'Chromium was not found (CHROMIUM, PATH), and the browser tests drive one' \
        'chromium chromium-browser' 'chromium' '--cask=chromium' || return 1
    find_chromium > /dev/null && return 0
    say "setup: Chromium still was not found: name a Chromium or Chrome with CHROMIUM=/path."
    return 1
}

# Playwright drives Chromium through a Node of its own, which needs a library that a bare system lacks.
need_node() {
    node=$("$VENV/bin/python" -c 'import playwright; print(playwright.__path__[0])')/driver/node || return 1
    words=$("$node" --version 2>&1) && return 0
    case $words in
    *libatomic*)
        need_package "the Node inside Playwright, which drives the browser tests, needs libatomic.so.1" \
            'libatomic1' 'libatomic' '' || return 1
        ;;
    esac
    words=$("$node" --version 2>&1) && return 0
    say "setup: the Node inside Playwright does not start: $words"
    return 1
}

# ------------------------------------------------------------ Prometheus

need_prometheus() {
    command -v prometheus > /dev/null && command -v promtool > /dev/null && return 0
    apt_options=--no-install-recommends  # Debian recommends an exporter that would be started
    need_package 'prometheus and promtool were not found (PATH), and the tests of metrics and alert rules start them' \
        'prometheus' '' 'prometheus' || return 1
    apt_options=
    command -v prometheus > /dev/null && command -v promtool > /dev/null && return 0
    say "setup: prometheus and promtool still were not found: put both on PATH."
    return 1
}
