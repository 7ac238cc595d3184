package tests;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.FsServerDefaults;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.local.LocalConfigKeys;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem;

/**
 * The local file system of Spark, without its processes. Where Hadoop's native library is missing, as in the PySpark
 * package, Hadoop starts `chmod` for each file it creates and `readlink` for each that it renames: here the Java
 * library does both. All the rest is Hadoop's. This one is what `FileSystem` gives for "file"; Context is what
 * `FileContext` gives, which Spark writes its logs with.
 */
public class LocalFiles extends ProxyLocalFileSystem {
    public LocalFiles() {
        fs = new Raw();
    }

    /** Without checksum files. */
    static class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
            Files.setAttribute(pathToFile(path).toPath(), "unix:mode", (int) permission.toShort());
        }

        @Override
        public FileStatus getFileLinkStatus(Path path) throws IOException {
            boolean isLink = Files.isSymbolicLink(pathToFile(path).toPath());
            return isLink ? super.getFileLinkStatus(path) : getFileStatus(path);
        }
    }

    /** As org.apache.hadoop.fs.local.LocalFs. */
    public static class Context extends ChecksumFs {
        public Context(URI uri, Configuration conf) throws IOException, URISyntaxException {
            super(new RawContext(conf));
        }
    }

    /** As org.apache.hadoop.fs.local.RawLocalFs. */
    static class RawContext extends DelegateToFileSystem {
        RawContext(Configuration conf) throws IOException, URISyntaxException {
            super(FsConstants.LOCAL_FS_URI, new Raw(), conf, FsConstants.LOCAL_FS_URI.getScheme(), false);
        }

        @Override
        public int getUriDefaultPort() {
            return -1;
        }

        @Override
        public FsServerDefaults getServerDefaults(Path path) throws IOException {
            return LocalConfigKeys.getServerDefaults();
        }

        @Override
        public FsServerDefaults getServerDefaults() throws IOException {
            return LocalConfigKeys.getServerDefaults();
        }

        @Override
        public boolean isValidName(String name) {
            return true;
        }
    }
}
