import Foundation
import Glibc
import Testing

/// The lines of a hub that is started on a terminal.
@Suite struct AnnouncementTests {
    /// A terminal: the end of the program, and that of the person who reads.
    private final class Terminal {
        private let reader: Int32
        let program: FileHandle

        init() throws {
            reader = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            var (number, lock) = (UInt32(0), Int32(0))
            // TIOCGPTN and TIOCSPTLCK of ioctl_tty(2), which Swift's Glibc lacks.
            try #require(ioctl(reader, 0x8004_5430, &number) == 0 && ioctl(reader, 0x4004_5431, &lock) == 0)
            let descriptor = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
            try #require(descriptor >= 0)
            program = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        }

        deinit { close(reader) }

        /// All that was written, once no program writes any more.
        func text() throws -> String {
            try program.close()
            var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4_096))
            while case let count = read(reader, &buffer, buffer.count), count > 0 { text += buffer[..<count] }
            return String(decoding: text, as: UTF8.self)
        }
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ("", true, "sb://hub.example.org:"),
            ("public-address: https://news.example.org", false, "sb://news.example.org/"),
            (
                "public-address: https://news.example.org\n  trusted-proxies: [192.0.2.7]\n  listen: 0.0.0.0", false,
                "sb://news.example.org/"
            ),
            // A router.
            ("public-address: https://news.example.org:8443\n  listen: 0.0.0.0", true, "sb://news.example.org:8443/"),
        ]
    )
    func `the notice about the hub's certificate is for hubs whose clients meet it`(
        setting: String,
        isMet: Bool,
        endpoint: String
    ) async throws {
        let scratch = try ScratchFolder()
        let text = "hub:\n  port: 0\n  state: hub\n  host-names: [hub.example.org]\n  \(setting)\n"
        try scratch.write(text, to: "newswire.yaml")
        let configuration = ["--config", scratch.file("newswire.yaml")]
        let terminal = try Terminal()
        let hub = try await RunningProgram(["hub"] + configuration, folder: scratch.path, terminal: terminal.program)
        let shown = try await BuiltProgram.run(["hub", "certificate"] + configuration)
        #expect(await hub.stop() == 0)
        let lines = try terminal.text()
        #expect(lines.contains("for agents: Endpoint=\(endpoint)"), "\(lines)")
        #expect(lines.contains("must trust the hub's certificate") == isMet, "\(lines)")
        // The address at which a client meets the hub's certificate: its own port, or a router's.
        let met = isMet ? endpoint.replacing("sb:", with: "https:") : "https://hub.example.org:"
        #expect(shown.output.contains(" \(met)") && shown.output.contains("/healthz"), "\(shown)")
        #expect(isMet || !shown.output.contains("news.example.org/"), "\(shown)")
    }
}
