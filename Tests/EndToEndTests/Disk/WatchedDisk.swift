import Foundation
import HostSystem
import Testing

/// The changes of files by a program, as they reach the system; a disk that is full for some of them; a kill after any.
///
/// A library that is loaded before the C library records them.
final class WatchedDisk {
    private static let library = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <limits.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        static void note(const char *what, const char *one, const char *other) {
            const char *file = getenv("DISK_LOG"), *folder = getenv("DISK_FOLDER");
            if (!file || !folder || strncmp(one, folder, strlen(folder))) return;
            char line[2 * PATH_MAX + 16];
            int size = snprintf(line, sizeof line, "%s\\t%s\\t%s\\n", what, one, other);
            int log = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
            if (log < 0 || syscall(SYS_write, log, line, size) != size) abort();
            syscall(SYS_close, log);
            static int changes;
            const char *last = getenv("DISK_LAST");
            // What was written without a sync is as good as not written.
            if (last && *what != 'w' && __sync_add_and_fetch(&changes, 1) == atoi(last)) kill(getpid(), SIGKILL);
        }
        static void name(int file, char *path) {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", file);
            ssize_t size = readlink(link, path, PATH_MAX - 1);
            path[size < 0 ? 0 : size] = 0;
        }
        static int full(const char *path) {
            const char *part = getenv("DISK_FULL");
            return part && strstr(path, part) ? (errno = ENOSPC, 1) : 0;
        }
        #define ON_FILE(result, call, parameters, arguments, event) \\
            result call parameters { \\
                static result (*real) parameters; \\
                if (!real) real = dlsym(RTLD_NEXT, #call); \\
                char path[PATH_MAX]; \\
                name(file, path); \\
                if (#call[0] != 'f' && full(path)) return -1; \\
                result done = real arguments; \\
                int code = errno; \\
                if (done >= 0) note(event, path, ""); \\
                errno = code; \\
                return done; \\
            }
        #define ON_NAME(call, parameters, arguments, one, other) \\
            int call parameters { \\
                static int (*real) parameters; \\
                if (!real) real = dlsym(RTLD_NEXT, #call); \\
                int done = real arguments, code = errno; \\
                if (done == 0) note(#call, one, other); \\
                errno = code; \\
                return done; \\
            }
        ON_FILE(ssize_t, write, (int file, const void *bytes, size_t size), (file, bytes, size), "write")
        ON_FILE(ssize_t, pwrite, (int file, const void *bytes, size_t size, off_t at), (file, bytes, size, at), "write")
        ON_FILE(ssize_t, pwrite64, (int file, const void *bytes, size_t size, off64_t at), (file, bytes, size, at), "write")
        ON_FILE(int, ftruncate, (int file, off_t size), (file, size), "write")
        ON_FILE(int, ftruncate64, (int file, off64_t size), (file, size), "write")
        ON_FILE(int, fsync, (int file), (file), "sync")
        ON_FILE(int, fdatasync, (int file), (file), "sync")
        ON_NAME(rename, (const char *one, const char *other), (one, other), one, other)
        ON_NAME(unlink, (const char *one), (one), one, "")
        """

    private let scratch: ScratchFolder
    private let folder: String
    private var log: String { scratch.file("disk.log") }

    /// Watches the files of a folder, whose path must be absolute and lead through no link.
    init(_ folder: String) async throws {
        self.folder = folder
        scratch = try ScratchFolder()
        try await PreloadedLibrary.compile(Self.library, as: "disk", in: scratch)
    }

    /// Variables of a program that is watched.
    ///
    /// Changes of files whose paths contain `full` fail as on a full disk. The program is killed after the sync, rename or
    /// removal with the number `last`.
    func environment(full: String? = nil, last: Int? = nil) -> [String: String] {
        var variables = ["LD_PRELOAD": scratch.file("disk.so"), "DISK_LOG": log, "DISK_FOLDER": folder]
        variables["DISK_FULL"] = full
        variables["DISK_LAST"] = last.map { "\($0)" }
        return variables
    }

    /// Forgets what was recorded.
    func clear() { unlink(log) }

    /// The changes since the last ``clear()``.
    var changes: Changes {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return Changes(text.split(separator: "\n").map { $0.components(separatedBy: "\t") })
    }

    /// Changes, of which a power cut now would keep only those that were synced.
    struct Changes {
        /// Number of syncs of files and folders.
        private(set) var syncs = 0
        private var changed: Set<String> = []

        /// Files whose content, and folders whose names, a power cut could take back.
        var unsynced: [String] {
            changed.filter { path in ![".lock", "-shm", "-journal", ".part", ".tmp"].contains { path.hasSuffix($0) } }
                .sorted()
        }

        fileprivate init(_ lines: [[String]]) {
            for line in lines where line.count == 3 {
                let (path, other) = (line[1], line[2])
                switch line[0] {
                case "write": changed.insert(path)
                case "sync":
                    syncs += 1
                    changed.remove(path)
                case "rename":
                    // What is not on disk under the old name is not there under the new one.
                    if changed.remove(path) != nil { changed.insert(other) } else { changed.remove(other) }
                    changed.insert(Self.folder(of: other))
                case "unlink":
                    changed.remove(path)
                    // A write-ahead log that comes back repeats what the database contains.
                    guard !["-wal", "-shm", ".part", ".tmp"].contains(where: { path.hasSuffix($0) }) else { break }
                    changed.insert(Self.folder(of: path))
                default: break
                }
            }
        }

        private static func folder(of path: String) -> String {
            String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
        }
    }
}

/// Libraries that tests load before others.
enum PreloadedLibrary {
    /// Compiles C to `NAME.so` in a folder.
    static func compile(_ text: String, as name: String, in scratch: ScratchFolder) async throws {
        try scratch.write(text, to: "\(name).c")
        let compiler = ChildProcess(
            arguments: [
                "/usr/bin/env", "clang", "-shared", "-fPIC", "-o", scratch.file("\(name).so"),
                scratch.file("\(name).c"),
                "-ldl",
            ],
            environment: ProcessInfo.processInfo.environment,
            timeout: .seconds(300),
            maximumOutputBytes: 65_536
        )
        let outcome = try await compiler.run()
        try #require(outcome.ending == .exited(0), "\(outcome.standardError)")
    }
}
