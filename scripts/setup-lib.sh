# Sourced by scripts/setup, run, test and check: where things are, and how missing ones are had. POSIX sh.

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

# A Python 3.11 to 3.13 that can make virtual environments: PYTHON when it is set, else the newest one of PATH.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        candidates=$PYTHON
    else
        candidates='python3.13 python3.12 python3.11 python3 python'
    fi
    for candidate in $candidates; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' > /dev/null 2>&1; then
            if "$candidate" -c 'import ensurepip, venv' > /dev/null 2>&1; then
                printf '%s\n' "$candidate"
                return 0
            fi
            without_venv=$candidate
        fi
    done
    if [ -n "${without_venv:-}" ]; then
        die "$without_venv cannot make virtual environments: install its venv package (on Debian and Ubuntu: apt-get install python3-venv)."
    fi
    if [ -n "${PYTHON:-}" ]; then
        die "PYTHON=$PYTHON is not a Python 3.11, 3.12 or 3.13: name one of those."
    fi
    die "Python 3.11, 3.12 or 3.13 was not found: install one, or name it with PYTHON=/path/to/python3."
}

# environment DIR NAME FILE...: a virtual environment with these requirements; nothing is done when it has them already.
environment() {
    directory=$1
    stamp=$1/.$2
    shift 2
    wanted=$(cat "$@" | cksum)
    if [ -x "$directory/bin/python" ] && "$directory/bin/python" -c '' > /dev/null 2>&1; then
        [ "$(cat "$stamp" 2> /dev/null)" != "$wanted" ] || return 0
    else
        python=$(find_python) || exit 1
        say "setup: making $directory with $("$python" -V 2>&1)"
        rm -rf "$directory"
        "$python" -m venv "$directory" || die "The virtual environment $directory could not be made with $python."
    fi
    say "setup: installing $(for file in "$@"; do basename "$file"; done | tr '\n' ' ')into $(basename "$directory") (minutes the first time)"
    set -- $(printf -- '-r %s ' "$@")
    # shellcheck disable=SC2068
    "$directory/bin/python" -m pip install --quiet --disable-pip-version-check --no-input $@ < /dev/null ||
        die "pip could not install the requirements into $directory: is the package index reachable?"
    printf '%s' "$wanted" > "$stamp"
}

# An environment with another PySpark: spark_environment 3.5.9 makes .venv-spark-3.5.9.
spark_environment() {
    case $1 in
    3.[345].[0-9]* | 4.[0-3].[0-9]*) ;;
    *) die "$1 is not a Spark release that the oracle knows: name one from 3.3 to 4.3 in full, for example 3.5.9 or 4.0.5." ;;
    esac
    SPARK_RELEASE=$1
    export SPARK_RELEASE
    environment "$PROJECT/.venv-spark-$1" stamp "$PROJECT/scripts/requirements-spark.txt"
}

# ------------------------------------------------------- system packages

# Whether we may install system packages without asking anybody.
may_install() {
    if [ "$(uname -s)" = Darwin ]; then
        command -v brew > /dev/null 2>&1
    else
        [ "$(id -u)" = 0 ] || sudo -n true > /dev/null 2>&1
    fi
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

# install_one_of APT DNF BREW: names that are tried in their order, for the package manager that is there.
install_one_of() {
    may_install || return 1
    if command -v apt-get > /dev/null 2>&1; then
        as_root apt-get update -qq < /dev/null > /dev/null 2>&1 || say "setup: apt-get update failed, going on with the list that is there"
        for package in $1; do
            say "setup: apt-get install $package"
            as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package" < /dev/null > /dev/null 2>&1 && return 0
        done
    elif command -v dnf > /dev/null 2>&1; then
        for package in $2; do
            say "setup: dnf install $package"
            as_root dnf install -y -q "$package" < /dev/null > /dev/null 2>&1 && return 0
        done
    elif command -v brew > /dev/null 2>&1; then
        for package in $3; do
            say "setup: brew install $package"
            brew install --quiet "$package" < /dev/null > /dev/null 2>&1 && return 0
        done
    fi
    return 1
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
    install_one_of 'openjdk-21-jre-headless openjdk-17-jre-headless' 'java-21-openjdk-headless java-17-openjdk-headless' 'openjdk@21' || true
    find_java_of_homebrew
    java_is_there && return 0
    say "Java 17 or newer was not found and could not be installed: install a Java runtime (for example openjdk-17-jre-headless) and set JAVA_HOME if it is not on PATH."
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
    for candidate in '/Applications/Chromium.app/Contents/MacOS/Chromium' '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'; do
        if [ -x "$candidate" ]; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

need_chromium() {
    find_chromium > /dev/null && return 0
    install_one_of 'chromium chromium-browser' 'chromium' '--cask=chromium' || true
    find_chromium > /dev/null && return 0
    say "Chromium was not found and could not be installed: install the package chromium, or name a Chrome with CHROMIUM=/path."
    return 1
}
