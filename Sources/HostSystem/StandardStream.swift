import Glibc

/// The three standard descriptors of this process.
package enum StandardStream {
    /// True if an error of `write` means that nobody will ever read the descriptor's output.
    ///
    /// A closed pipe or socket gives EPIPE or ECONNRESET, and a terminal that is gone EIO; for
    /// a file, EIO means a failing disk.
    package static func isGone(_ descriptor: Int32, _ code: Int32) -> Bool {
        switch code {
        case EPIPE, ECONNRESET: true
        case EIO: kind(descriptor) == S_IFCHR
        default: false
        }
    }

    /// True if the descriptor is a plain file.
    package static func isFile(_ descriptor: Int32) -> Bool { kind(descriptor) == S_IFREG }

    /// Opens standard descriptors that are closed, so that no file or connection gets their numbers and with them what
    /// is printed.
    ///
    /// Reading standard input then gives its end, and writing an output fails with EBADF.
    package static func reserve() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is this one.
            _ = open("/dev/null", O_RDONLY)
        }
    }

    private static func kind(_ descriptor: Int32) -> mode_t? {
        var facts = stat()
        return fstat(descriptor, &facts) == 0 ? facts.st_mode & S_IFMT : nil
    }
}
