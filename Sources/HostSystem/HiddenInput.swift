import Glibc

/// Input of a line at a terminal without showing it, for example of a password.
package enum HiddenInput {
    /// The terminal of a program's user, wherever its standard input comes from.
    package static let controllingTerminal = "/dev/tty"

    /// Asks at a terminal, and reads a line without showing it.
    ///
    /// The keys for correcting and cancelling are handled here instead of by the terminal: a signal would leave the
    /// terminal without echo. A line has at most `limit` bytes.
    ///
    /// - Returns: `nil` if the user cancels.
    /// - Throws: ``HostError`` if there is no terminal, or the line is too long or not UTF-8.
    package static func line(
        prompt: String,
        limit: Int = 4_096,
        terminal path: String = controllingTerminal
    ) throws(HostError) -> String? {
        let terminal = try Descriptor.open(path, O_RDWR | O_NOCTTY)
        var former = termios()
        guard tcgetattr(terminal.number, &former) == 0 else { throw HostError("cannot use", path, code: errno) }
        var hidden = former
        hidden.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | ISIG)
        set(&hidden, VMIN, 1)
        set(&hidden, VTIME, 0)
        guard tcsetattr(terminal.number, TCSAFLUSH, &hidden) == 0 else {
            throw HostError("cannot use", path, code: errno)
        }
        defer {
            tcsetattr(terminal.number, TCSADRAIN, &former)
            show("\n", at: terminal)
        }
        show(prompt, at: terminal)
        guard let bytes = try typed(at: terminal, keys: Keys(former), limit: limit, path) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw HostError("cannot read", path, because: "not UTF-8 text")
        }
        return text
    }

    /// The keys with an effect while a line is typed.
    private struct Keys {
        let erase: [UInt8]
        let clear: UInt8
        let breakOff: [UInt8]

        init(_ state: termios) {
            erase = [character(state, VERASE), 0x08, 0x7F]
            clear = character(state, VKILL)
            breakOff = [character(state, VINTR), character(state, VQUIT), character(state, VEOF)]
        }
    }

    private static func typed(
        at terminal: Descriptor,
        keys: Keys,
        limit: Int,
        _ path: String
    ) throws(HostError) -> [UInt8]? {
        var line: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            let count = uninterrupted { read(terminal.number, &byte, 1) }
            guard count >= 0 else { throw HostError("cannot read", path, code: errno) }
            switch byte {
            case _ where count == 0 || keys.breakOff.contains(byte): return nil
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return line
            case keys.clear: line = []
            case _ where keys.erase.contains(byte): eraseLast(&line)
            default:
                guard line.count < limit else {
                    throw HostError("cannot read", path, because: "the line is longer than \(limit) bytes")
                }
                line.append(byte)
            }
        }
    }

    /// Removes the last character, with all of its bytes.
    private static func eraseLast(_ line: inout [UInt8]) {
        while let byte = line.popLast(), byte & 0xC0 == 0x80 {}
    }

    private static func show(_ text: String, at terminal: Descriptor) {
        _ = write(terminal.number, text, text.utf8.count)
    }

    private static func set(_ state: inout termios, _ index: Int32, _ value: UInt8) {
        withUnsafeMutableBytes(of: &state.c_cc) { $0[Int(index)] = value }
    }

    private static func character(_ state: termios, _ index: Int32) -> UInt8 {
        withUnsafeBytes(of: state.c_cc) { $0[Int(index)] }
    }
}
