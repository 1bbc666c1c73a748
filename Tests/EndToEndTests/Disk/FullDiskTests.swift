import Foundation
import OutboundHTTP
import Testing

/// Commands on a full disk name the file that they cannot write, and say that it is a matter of time.
@Suite(.serialized) struct FullDiskTests {
    private let scratch: ScratchFolder
    private let disk: WatchedDisk

    init() async throws {
        scratch = try ScratchFolder()
        disk = try await WatchedDisk(scratch.path)
    }

    private var state: [String] { ["--state", scratch.file("hub")] }

    @Test(.timeLimit(.minutes(10))) func `a full disk is named with its file, and is for later`() async throws {
        let notices = try ScratchFolder()
        let hub = try await RunningProgram(["hub", "--port", "0"] + state, folder: notices.path)
        #expect(await hub.stop() == 0, "\(hub.errors)")
        try scratch.write("correct horse\n", to: "password")
        let adding = ["user", "add", "ann", "--password-file", scratch.file("password")]
        #expect(try await BuiltProgram.run(["hub", "invite"] + state).status == 0)
        #expect(try await BuiltProgram.run(adding + state).status == 0)
        let rotating = ["hub", "keys", "--rotate", "DefaultListenSharedAccessSignature"]
        let commands: [(arguments: [String], file: String)] = [
            (["hub", "invite"], "hub/pages.sqlite"), (["hub", "invite", "--operator"], "hub/pages.sqlite"),
            (["user", "rights", "ann", "--may-notify"], "hub/backend.sqlite"), (rotating, "hub/hub.sqlite"),
            (["hub", "backup", scratch.file("copy")], "copy"),
        ]
        for (arguments, file) in commands {
            let outcome = try await BuiltProgram.run(
                arguments + state,
                environment: disk.environment(full: scratch.file(file))
            )
            #expect(outcome.status == 75, "\(arguments): \(outcome.errors)")
            #expect(outcome.errors.contains(scratch.file(file)), "\(arguments): \(outcome.errors)")
            #expect(outcome.errors.contains("the disk is full"), "\(arguments): \(outcome.errors)")
            #expect(outcome.output.isEmpty, "\(arguments)")
        }
        #expect(!FileManager.default.fileExists(atPath: scratch.file("copy")))
        #expect(!FileManager.default.fileExists(atPath: scratch.file("copy.part")))
    }
}
