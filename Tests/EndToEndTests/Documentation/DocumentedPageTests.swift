import Foundation
import HostSystem
import Testing

/// The commands of the README and of the pages in docs, run on loopback as a newcomer types them.
@Suite(.serialized) struct DocumentedPageTests {
    /// The pages with commands of `newswire`, README.md first, without that about several machines: `ClusterTests` runs
    /// its commands.
    private static var pages: [String] {
        get throws {
            try DocumentedLines.pages().filter { page in
                try page != "docs/cluster.md"
                    && DocumentedLines.lines(of: page).contains { !DocumentedLines.calls(in: $0.text).isEmpty }
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `the README's commands work in their order, on one machine and on a second`() async throws {
        let stage = try DocumentedStage(page: "README.md")
        let lines = try DocumentedLines.lines(of: "README.md").filter { !$0.text.hasPrefix("make ") }
        #expect(try await stage.run(lines) == lines.count)
        #expect(try await stage.hasReceived("Breaking Sports News : Extra time in the final", on: "nas"))
        #expect(try await stage.hasReceived("The meeting is at ten", on: "desk"))
        await stage.stop()
    }

    @Test(.timeLimit(.minutes(20)))
    func `the commands of every page in docs work in their order`() async throws {
        var count = 0
        for page in try Self.pages.dropFirst() {
            let stage = try DocumentedStage(page: page)
            count += try await stage.run(try DocumentedLines.lines(of: page))
            await stage.stop()
        }
        #expect(count > 60, "the pages have \(count) commands that can be run")
    }

    /// What the package contains is what `packaging/install` writes.
    @Test(.timeLimit(.minutes(10)))
    func `the commands about the examples work with the files of the package`() async throws {
        let scratch = try ScratchFolder()
        for file in ["newswire.bash", "_newswire", "newswire.fish", "man/newswire.1", "THIRD-PARTY-LICENSES"] {
            let folder = scratch.file("share/man")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try scratch.write("", to: "share/\(file)")
        }
        let child = ChildProcess(
            arguments: ["\(BuiltProgram.repository)/packaging/install", "install"],
            // Not the program itself: it is large, and is run from where it was built.
            environment: [
                "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "PREFIX": "/usr",
                "DESTDIR": scratch.file("root"), "BUILT": "/bin/true", "SHARE": scratch.file("share"),
            ],
            timeout: .seconds(120),
            maximumOutputBytes: 1 << 20
        )
        let outcome = try await child.run()
        try #require(outcome.ending == .exited(0), "\(outcome.standardError)")
        let page = "docs/examples/README.md"
        let stage = try DocumentedStage(page: page, docs: scratch.file("root/usr/share/doc/newswire/docs"))
        let lines = try DocumentedLines.lines(of: page)
        #expect(try await stage.run(lines) == lines.count)
        await stage.stop()
    }
}
