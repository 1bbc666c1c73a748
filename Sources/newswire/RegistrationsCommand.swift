import ArgumentParser
import Foundation
import HostSystem
import HubClient
import HubProtocol

struct RegistrationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrations",
        abstract: "Tell which phones, browsers and desktops are registered, and with which tags and templates.",
        discussion: """
            Agents of 'newswire subscribe' are not among them: no other client of the protocol knows their platform.
            """,
        subcommands: [RegistrationsListCommand.self, RegistrationsShowCommand.self]
    )
}

struct RegistrationsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List registrations: id, platform, template or native, the beginning of the push handle, tags.",
        discussion: """
            With --json each is an object on a line of its own, with all that 'newswire registrations show' tells.

            EXAMPLES
              newswire registrations list --tag World
              newswire registrations list --device 62BC348C…
              newswire registrations list --json | jq -r 'select(.platform == "apns") | .handle'
            """
    )

    @OptionGroup var inquiry: InquiryOptions

    @Option(help: "Those with this tag only.")
    var tag: String?

    @Option(help: ArgumentHelp("Those of this push handle only.", valueName: "handle"))
    var device: String?

    @Option(help: "How many to list. Without it: all.")
    var limit: Int?

    func validate() throws {
        guard tag == nil || device == nil else { throw ValidationError("give --tag or --device, not both") }
        guard limit.map({ $0 > 0 }) ?? true else { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        try await reportingFailures {
            let selection = try selection()
            let (limit, json) = (limit ?? .max, inquiry.json)
            try await inquiry.ask { hub in
                try await Self.list(selection, of: hub, limit: limit, json: json)
            }
        }
    }

    /// Prints each page when it has come: a hub may have a million of them.
    private static func list(
        _ selection: RegistrationSelection,
        of hub: HubClient,
        limit: Int,
        json: Bool
    ) async throws {
        var start: String?
        var left = limit
        repeat {
            let page = try await hub.registrations(selection, from: start)
            for problem in page.answer.problems { Console.warning("a registration cannot be shown: \(problem)") }
            for registration in page.answer.registrations.prefix(left) {
                let output = RegistrationOutput(registration)
                Console.print(json ? try JSON.line(output) : output.line)
            }
            left -= page.answer.registrations.count
            start = page.next
        } while start != nil && left > 0
    }

    private func selection() throws(Failure) -> RegistrationSelection {
        if let device {
            guard !device.isEmpty, device.utf8.count <= PushChannel.maximumLength else {
                throw Failure(.usage, "--device is no push handle")
            }
            return .handle(device)
        }
        guard let tag else { return .all }
        do {
            return .tag(try Tag(tag))
        } catch {
            throw Failure(.usage, error.detail)
        }
    }
}

struct RegistrationsShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a registration in full: handle, tags, template, when it expires.",
        discussion: """
            EXAMPLES
              newswire registrations show 4497227228776861650-7267172778370643468-1
            """
    )

    @OptionGroup var inquiry: InquiryOptions

    @Argument(help: ArgumentHelp("The registration's id.", valueName: "id"))
    var id: String

    func run() async throws {
        try await reportingFailures {
            let id = try identifier()
            let answer = try await inquiry.ask { hub in try await hub.registration(id) }
            guard let answer else {
                throw Failure(
                    .failed,
                    "there is no registration '\(id)' at this hub",
                    hint: "'newswire registrations list' shows those that are there"
                )
            }
            guard let registration = answer.registrations.first else {
                let problems = answer.problems.joined(separator: "; ")
                throw Failure(.failed, "the registration '\(id)' cannot be shown: \(problems)")
            }
            let output = RegistrationOutput(registration)
            if inquiry.json { return Console.print(try JSON.line(output)) }
            for line in output.lines { Console.print(line) }
        }
    }

    private func identifier() throws(Failure) -> RegistrationID {
        do {
            return try RegistrationID(id)
        } catch {
            throw Failure(.usage, error.detail, hint: "'newswire registrations list' shows ids of registrations")
        }
    }
}
