import Glibc
import HostSystem
import Testing

@Suite struct StateDirectoryTests {
    private let scratch: ScratchDirectory

    init() throws {
        scratch = try ScratchDirectory()
    }

    @Test func `systemd's directory comes before XDG's, and XDG's before the home`() throws {
        var environment = [
            "STATE_DIRECTORY": "\(scratch.path)/unit:/elsewhere", "XDG_STATE_HOME": "\(scratch.path)/xdg",
            "HOME": "\(scratch.path)/home",
        ]
        func path() throws -> String {
            try StateDirectory.locate(role: "agent", profile: "work", environment: environment).path
        }
        #expect(try path() == "\(scratch.path)/unit")
        environment["STATE_DIRECTORY"] = nil
        #expect(try path() == "\(scratch.path)/xdg/newswire/agent/work")
        environment["XDG_STATE_HOME"] = "relative/is/ignored"
        #expect(try path() == "\(scratch.path)/home/.local/state/newswire/agent/work")
    }

    @Test func `an override wins and no profile adds no segment`() throws {
        let environment = ["XDG_STATE_HOME": scratch.path]
        let directory = try StateDirectory.locate(role: "hub", environment: environment)
        #expect(directory.file("hub.sqlite") == "\(scratch.path)/newswire/hub/hub.sqlite")
        let other = try StateDirectory.locate(
            role: "hub",
            override: scratch.file("mine"),
            environment: ["STATE_DIRECTORY": "/elsewhere"]
        )
        #expect(other.path == scratch.file("mine"))
    }

    @Test func `what is made is closed to others and what is there is left as it is`() throws {
        let environment = ["XDG_STATE_HOME": scratch.file("state")]
        let directory = try StateDirectory.locate(role: "hub", environment: environment)
        #expect(mode(of: directory.path) == 0o700)
        #expect(mode(of: scratch.file("state")) == 0o700)
        #expect(try StateDirectory.locate(role: "hub", environment: environment) == directory)
    }

    @Test func `temporary files of killed processes are removed, those of living ones and others stay`() async throws {
        let directory = try StateDirectory.locate(
            role: "hub",
            override: scratch.path,
            environment: [:]
        )
        let child = ChildProcess(
            arguments: ["/bin/sh", "-c", "echo $$"],
            environment: [:],
            timeout: .seconds(60),
            maximumOutputBytes: 100
        )
        let ended = try #require(try await child.run().standardOutput.split(separator: "\n").first)
        // Copies that an operator may have made.
        let copies = ["notes.tmp", "hub.sqlite.tmp", "hub.sqlite-wal.tmp", "hub.2026-11-24.tmp"]
        let stay = copies + ["secrets.key", "a.\(getpid())-0abc.tmp", "My Notes.tmp", "full.connection.k3j5.tmp"]
        let go = ["full.connection.\(ended)-1y2p0ij32e8e7.tmp", "listen.connection.3w5e11264sgsf.tmp"]
        for name in stay + go { try PrivateFile.write("x", to: directory.file(name)) }
        // An hour and more ago, by an earlier version.
        var old = [timespec(tv_sec: 1_000, tv_nsec: 0), timespec(tv_sec: 1_000, tv_nsec: 0)]
        for name in copies + [go[1]] { #expect(utimensat(AT_FDCWD, directory.file(name), &old, 0) == 0) }
        directory.removeLeftovers()
        #expect(scratch.names == stay.sorted())
    }

    @Test(arguments: ["", ".", "..", "a/b", ".hidden", "a b", "ä", String(repeating: "a", count: 65)])
    func `a profile that is not a plain name is refused`(_ profile: String) {
        #expect(throws: HostError.self) {
            try StateDirectory.locate(
                role: "agent",
                profile: profile,
                environment: ["XDG_STATE_HOME": scratch.path]
            )
        }
    }

    @Test func `a file instead of the directory is an error that names it`() throws {
        try PrivateFile.write("x", to: scratch.file("occupied"))
        let error = #expect(throws: HostError.self) {
            try StateDirectory.locate(role: "hub", override: scratch.file("occupied"), environment: [:])
        }
        #expect(error?.description == "cannot use state directory '\(scratch.path)/occupied': not a directory")
    }
}
