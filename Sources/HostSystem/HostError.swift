import Glibc

/// A refusal by the system: the operation, its object, the reason, and a hint.
package struct HostError: Error, Sendable, Equatable {
    /// In the form "cannot open".
    package let attempt: String
    package let subject: String
    package let reason: String
    package let hint: String?

    /// The value of `errno`, if the system set one.
    package let code: Int32?

    package init(_ attempt: String, _ subject: String, because reason: String, hint: String? = nil) {
        self.attempt = attempt
        self.subject = subject
        self.reason = reason
        self.hint = hint
        self.code = nil
    }

    /// Makes an error with `errno` from right after the call that failed.
    package init(_ attempt: String, _ subject: String, code: Int32, hint: String? = nil) {
        self.attempt = attempt
        self.subject = subject
        // The same words as in the errors of databases.
        self.reason = code == ENOSPC ? "the disk is full" : String(cString: strerror(code)).lowercased()
        self.hint = hint ?? Self.hint(code)
        self.code = code
    }

    /// True if the object does not exist, rather than being unusable.
    package var isMissing: Bool { code == ENOENT }

    /// True if waiting can help: a full or failing disk, too many open files, too little memory.
    package var isTemporary: Bool {
        switch code {
        case ENOSPC, EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOMEM: true
        default: false
        }
    }

    /// True if a file could not be written for lack of space, or may not grow.
    package var isOfSpace: Bool {
        switch code {
        case ENOSPC, EDQUOT, EFBIG: true
        default: false
        }
    }

    private static func hint(_ code: Int32) -> String? {
        switch code {
        case ENOSPC, EDQUOT: "free some space and try again"
        case EFBIG: "raise the limit of file sizes (ulimit -f, LimitFSIZE=)"
        case EMFILE, ENFILE: "raise the limit of open files (ulimit -n, LimitNOFILE=)"
        default: nil
        }
    }
}

extension HostError: CustomStringConvertible {
    package var description: String {
        let line = "\(attempt) '\(TerminalText.safe(subject))': \(reason)"
        return hint.map { "\(line) (\($0))" } ?? line
    }
}
