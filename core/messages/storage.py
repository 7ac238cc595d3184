"""Why a location, a directory or a file cannot be read, and what to do."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # A location that is none.
    "location_empty": "The location is empty; paste the path of a checkpoint directory.",
    "location_control": "The location has line breaks or control characters in it; paste one path.",
    "location_password": (
        "A location must not hold a password, a token or a signature: it would stand in links, logs and"
        " answers. Configure a root"
        " with storage_options (docs/settings.md) and open it by its name."
    ),
    "location_archive": '"{text}" is an archive; unpack it and open the directory that was in it.',
    "location_chained": '"{text}" chains two stores with "::"; paste the location of the directory itself.',
    "location_one_slash": '"{text}" has one slash after "{protocol}:"; write {protocol}:/{rest}.',
    "location_host": (
        '"{text}" names the host "{host}", and files of other hosts cannot be read; a local path has three'
        " slashes: file:///{rest}."
    ),
    "location_home": '"{text}" begins with the home directory of an unknown user; write the full path.',
    "location_windows": (
        '"{text}" is a path of Windows, and this app runs on another system, which has no such directory;'
        " give the path under which this system has it."
    ),
    "location_databricks": (
        '"{text}" exists only inside Databricks ({form} is not mounted on this machine); use the cloud'
        " storage URL behind it (s3://, abfss://, gs://), or copy the directory here with: databricks fs cp"
        " -r <source> <local directory>."
    ),
    "location_no_store": (
        '"{protocol}://" is not a store of its own; paste the location of the directory itself.'
    ),
    "location_no_bucket": '"{url}" names no bucket, host or container; write {protocol}://<name>/<path>.',
    "location_no_account": (
        '"{url}" does not name the storage account; write'
        " abfss://<container>@<account>.dfs.core.windows.net/<path>, or give account_name in the"
        " storage_options of a configured root (CHECKPOINT_EXPLORER_ROOTS)."
    ),
    "location_dots": (
        '"{url}" has "." or ".." in its path, which object stores do not follow; write the full path.'
    ),
    "location_bucket": '"{bucket}" is not a valid bucket name; write s3://<bucket>/<path>.',
    "location_invalid": '"{url}" is not a valid {protocol} location ({error}).',
    "location_unknown": (
        '"{protocol}://" is not a store that can be read; use a local path, s3://, abfss://, gs://, hdfs://'
        " or another of fsspec."
    ),
    "location_wasb": (
        '"{protocol}://" is the older driver for the same containers; write'
        " abfss://<container>@<account>.dfs.core.windows.net/<path>."
    ),
    "location_package": (
        '"{protocol}://" locations need the Python package {package}; install it with: pip install {package}'
    ),
    # A location that cannot be listed.
    "no_credentials": (
        "No valid credentials for {where} ({cause}); set them in the environment (AWS_PROFILE,"
        " AWS_ACCESS_KEY_ID) or in the storage_options of a configured root. A file of credentials or a login"
        " (aws sso login) is taken at the next reading, without a restart."
    ),
    "no_credentials_gs": (
        "No credentials for {where} were found, and without any it was not readable; set"
        " GOOGLE_APPLICATION_CREDENTIALS in the environment to the file of a service account, log in with"
        " gcloud auth application-default login, or give token in the storage_options of a configured root"
        " (CHECKPOINT_EXPLORER_ROOTS). Variables of the environment need a restart."
    ),
    "no_credentials_abfs": (
        "No credentials for {where} were found; log in with az login, set AZURE_TENANT_ID, AZURE_CLIENT_ID"
        " and AZURE_CLIENT_SECRET or AZURE_STORAGE_ACCOUNT_KEY in the environment, or give account_key or"
        " sas_token in the storage_options of a configured root (CHECKPOINT_EXPLORER_ROOTS). Variables of the"
        " environment need a restart."
    ),
    "credentials_refused": (
        "The credentials for {where} are not accepted ({cause}); renew them. A file of credentials or a login"
        " (aws sso login) is taken at the next reading; variables of the environment need a restart."
    ),
    "not_asked": (
        "{where} was not asked: something that the connection needs on this machine is missing or broken"
        " ({cause}); check the profile, the files and programs that give credentials, and the certificates of"
        " the user that runs this app."
    ),
    "no_hadoop": (
        "{where} was not asked: hdfs:// needs Java and the client of Hadoop on the machine of this app"
        " (JAVA_HOME, HADOOP_HOME, CLASSPATH; {cause}). webhdfs://<name node>:9870/<path> needs neither."
    ),
    "not_reached": "{where} cannot be reached ({cause}); check the endpoint and the network, then refresh.",
    "turned_away": (
        "{where}: the store answers, but turns requests away ({cause}): it has too many of them, or is not"
        " well. Wait some minutes, then refresh. Nothing says that anything is damaged."
    ),
    "no_answer": "no answer within {seconds} seconds (setting store_seconds)",
    "needs_options": (
        '"{protocol}://" locations need options that a location cannot give; configure a root with'
        " storage_options (docs/settings.md) and open it by its name."
    ),
    "no_permission": (
        "No permission to list {where} ({cause}); check the permissions of the user that runs this app."
    ),
    "is_a_file": "{where} is a file; open the checkpoint directory that contains it.",
    "is_an_archive": "{where} is an archive; unpack it and open the checkpoint directory that was in it.",
    "not_found": "Nothing found at {where}; check the path, or whether the query has started yet.",
    "no_bucket": (
        "There is no bucket {bucket} ({where}): check its name, the endpoint and the account that the"
        " credentials belong to."
    ),
    "not_found_because": (
        "Nothing found at {where} ({cause}); check the path, or whether the query has started yet."
    ),
    "not_listed": (
        "{where} cannot be listed ({kind}: {cause}); check the location and the connection, then refresh."
    ),
    # A file that cannot be read.
    "file_no_permission": "No permission to read this file ({cause}).",
    "file_not_asked": (
        "The store was not asked for this file: something that the connection needs on this machine is"
        " missing or broken ({kind}: {cause})."
    ),
    "file_is_directory": "This is a directory, not a file.",
    "file_not_read": "This file could not be read ({kind}: {cause}).",
    "file_leads_out": (
        "This is a symbolic link that leads out of the location; a server that others can reach does not"
        " follow it."
    ),
    "directory_leads_out": (
        "{path} is a symbolic link that leads out of the location; a server that others can reach does not"
        " follow it, so what is below it was not read."
    ),
    "listed_and_not_there": "It is in the listing and was not found when it was read, twice.",
    "came_back_short": "Only {got:,} of its {size_bytes:,} bytes came back, twice.",
    "listed_by_its_parent": "its parent lists it, and it was not found",
    "checksum_too_large": (
        "It has {size_bytes:,} bytes, more than the {limit_bytes:,} bytes that are read of a checksum file."
    ),
    # What a server may open.
    "path_leads_out": "The path {path!r} leads out of {location}; only files below the location are read.",
    "root_unusable": 'The root "{name}" in {setting} cannot be used: {error}',
    "server_address": (
        "The app listens on {bound_to}, which others can reach, but {setting} is {address}; set"
        " {setting}={wanted} so that only the configured roots can be opened."
    ),
    "server_without_roots": (
        'The app listens on "{address}", which others can reach, and no roots are configured; set'
        ' {setting}, for example {setting}=\'{{"prod": "s3://bucket/checkpoints"}}\', or listen on 127.0.0.1.'
    ),
    "outside_roots": (
        "{location} lies outside the configured roots ({roots}); open something below them, or ask whoever"
        " runs this server to add it to {setting}."
    ),
    "link_no_root": (
        'This link asks for "{link}", and no root is called "{name}" here (there is: {roots}); add it to'
        " {setting} or paste the location itself."
    ),
    "link_leads_out": 'This link asks for "{link}", whose path leads out of the root "{name}".',
    "link_symbolic": (
        'This link asks for "{link}", which leads out of the root "{name}" through a symbolic link.'
    ),
    "not_a_listing": "the answer of the server is not an S3 listing",
}
