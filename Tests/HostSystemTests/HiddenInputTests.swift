import Glibc
import Testing

@testable import HostSystem

@Suite(.timeLimit(.minutes(1)))
struct HiddenInputTests {
    /// What a person at a terminal types once they are asked, and what they get to see.
    private static func type(_ keys: [UInt8], limit: Int = 64) async throws -> (
        line: Result<String?, any Error>, shown: String
    ) {
        let terminal = try PseudoTerminal()
        async let shown = onThread { Result { terminal.answer("Password: ", with: keys) } }
        async let line = onThread {
            Result { try HiddenInput.line(prompt: "Password: ", limit: limit, terminal: terminal.path) }
        }
        return (try await line, try await shown.get())
    }

    private static func onThread<Value: Sendable>(
        _ work: @escaping @Sendable () -> Result<Value, any Error>
    ) async throws -> Result<Value, any Error> {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try BackgroundThread.start { continuation.resume(returning: work()) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    @Test(arguments: [
        ("a line", Array("secret\n".utf8), "secret"),
        ("return", Array("secret\r".utf8), "secret"),
        ("nothing", Array("\n".utf8), ""),
        ("other letters", Array("pässwörd\n".utf8), "pässwörd"),
        ("a mistake of two bytes", Array("paé".utf8) + [0x7F] + Array("b\n".utf8), "pab"),
        ("more mistakes than letters", Array("a".utf8) + [0x7F, 0x08] + Array("b\n".utf8), "b"),
        ("begun again", Array("wrong".utf8) + [0x15] + Array("right\n".utf8), "right"),
        ("interrupted", Array("sec".utf8) + [0x03], nil),
        ("quit", Array("sec".utf8) + [0x1C], nil),
        ("ended", [0x04], nil),
    ])
    func `a line is read and not shown`(name: String, keys: [UInt8], expected: String?) async throws {
        let (line, shown) = try await Self.type(keys)
        #expect(try line.get() == expected, "\(name)")
        #expect(shown == "Password: \r\n", "\(name)")
    }

    @Test func `a line that is too long or no text is refused, and the terminal echoes again`() async throws {
        let (long, shown) = try await Self.type(Array(repeating: UInt8(ascii: "a"), count: 65) + [0x0A])
        #expect(throws: HostError.self) { try long.get() }
        #expect(shown.hasPrefix("Password: \r\n"))
        let (bytes, _) = try await Self.type([0xFF, 0x0A])
        #expect(throws: HostError.self) { try bytes.get() }
    }

    @Test func `an input that is not a terminal is refused`() {
        #expect(throws: HostError.self) { try HiddenInput.line(prompt: "", terminal: "/dev/null") }
        #expect(throws: HostError.self) { try HiddenInput.line(prompt: "", terminal: "/nonexistent") }
    }
}

/// A terminal with this program in the place of the person.
private final class PseudoTerminal: Sendable {
    let path: String
    private let person: Descriptor
    /// Keeps the terminal alive between the program's openings.
    private let held: Descriptor

    init() throws {
        person = try Descriptor.open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var number: UInt32 = 0
        var lock: Int32 = 0
        // TIOCGPTN and TIOCSPTLCK of ioctl_tty(2), which Swift's Glibc lacks.
        try #require(ioctl(person.number, 0x8004_5430, &number) == 0)
        try #require(ioctl(person.number, 0x4004_5431, &lock) == 0)
        path = "/dev/pts/\(number)"
        held = try Descriptor.open(path, O_RDWR | O_NOCTTY)
    }

    /// Types `keys` when `prompt` has appeared.
    ///
    /// - Returns: Everything that was shown, up to the end of the line.
    func answer(_ prompt: String, with keys: [UInt8]) -> String {
        var shown = ""
        var hasTyped = false
        var buffer = [UInt8](repeating: 0, count: 256)
        while !shown.hasSuffix("\r\n") {
            let count = read(person.number, &buffer, buffer.count)
            guard count > 0 else { break }
            shown += String(decoding: buffer[..<count], as: UTF8.self)
            guard !hasTyped, shown.hasSuffix(prompt) else { continue }
            hasTyped = true
            _ = write(person.number, keys, keys.count)
        }
        return shown
    }
}
