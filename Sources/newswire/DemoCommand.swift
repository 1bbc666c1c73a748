import ArgumentParser
import Demonstration
import Foundation
import HostSystem
import SubscriberAgent

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run the whole pipeline in a temporary directory: hub, publisher and two agents.",
        discussion: """
            The sample feeds are served from this machine, and nothing leaves it. Without --once the demo keeps \
            running and suggests commands to try.

            EXAMPLES
              newswire demo
              newswire demo --once
            """
    )

    @Flag(help: "Stop once the samples are delivered; exit 0 only if every expected message arrived, and no other.")
    var once = false

    @Option(
        help: ArgumentHelp(
            "The directory of the sample feeds (default: feeds/samples, else the installed ones).",
            valueName: "path"
        ),
        completion: .directory
    )
    var samples: String?

    func run() async throws {
        let samples = try SampleFeeds(directory: samples ?? SampleFeeds.standardDirectory)
        let scratch = try ScratchDirectory()
        defer { scratch.remove() }
        let isOnce = once
        let invitation = { @Sendable (shown: DemoInvitation) in Self.invitation(shown, scratch.path) }
        try await untilStopped {
            try await withHTTP { http in
                let demo = Demo(samples: samples, scratch: scratch.path, http: http, environment: Self.environment)
                try await demo.run(thenInvite: isOnce ? nil : invitation)
            }
        }
    }
}

extension DemoCommand {
    private static func invitation(_ shown: DemoInvitation, _ scratch: String) -> String {
        let program = CommandLine.arguments.first ?? "newswire"
        return """

            The demo runs until Ctrl-C. In a browser, open
              \(shown.page)
            and sign in as \(shown.user) with the password \(shown.password)
            To send, correct and see who got what, open this once, within an hour:
              \(shown.operatorLink)
            In another terminal, try:
              export NEWSWIRE_CONNECTION_FILE=\(shown.connectionFile)
              \(program) subscribe --state \(scratch)/me --categories World,Sports
            and in a third one:
              export NEWSWIRE_CONNECTION_FILE=\(shown.connectionFile)
              \(program) send --tags Sports --message "Extra time in the final"
              \(program) categories --state \(scratch)/me
              \(program) inbox --state \(scratch)/me
            """
    }

    private static let environment = DemoEnvironment(
        print: { line in
            do {
                try Console.write(line)
            } catch let failure as Failure {
                throw HandlerFailure.failed(failure.text)
            } catch {
                throw HandlerFailure.outputClosed
            }
        },
        reporter: AgentOptions.reporter,
        logger: { Program.logger($0) }
    )
}

/// A temporary directory, which ``remove()`` deletes.
struct ScratchDirectory: Sendable {
    let path: String

    init() throws {
        let name = "newswire-demo-\(String(UInt32.random(in: .min ... .max), radix: 36))"
        path = FileManager.default.temporaryDirectory.appending(component: name).path
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw Failure(
                .badConfiguration,
                "cannot make the folder '\(path)': \(error.localizedDescription)",
                hint: "TMPDIR names the folder for temporary files"
            )
        }
    }

    func remove() {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            Console.warning("cannot remove '\(path)': \(error.localizedDescription)")
        }
    }
}
