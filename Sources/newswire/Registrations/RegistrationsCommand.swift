import ArgumentParser
import Formats
import Foundation
import HostSystem
import HubClient
import HubProtocol

struct RegistrationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrations",
        abstract: "Show the registered phones, browsers, desktops, agents and readers' pages, with their tags.",
        subcommands: [RegistrationsListCommand.self, RegistrationsShowCommand.self]
    )
}

struct RegistrationsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List registrations: id, platform, template or native, a part of the push handle, tags.",
        discussion: """
            Agents of 'newswire subscribe' and readers' pages, whose platform 'stream' has installations only, follow \
            with their installation ids. --json prints one object per line, with everything that 'newswire \
            registrations show' prints.

            EXAMPLES
              newswire registrations list --tag World
              newswire registrations list --device 62BC348C…
              newswire registrations list --device phone-1
              newswire registrations list --json | jq -r 'select(.platform == "apns") | .pushChannel'
            """
    )

    @OptionGroup var options: HubRequestOptions

    @Option(help: "List only registrations with this tag.")
    var tag: String?

    @Option(help: ArgumentHelp("List only registrations of this push handle or installation id.", valueName: "device"))
    var device: String?

    @Option(help: "The maximum number of registrations to list (default: all).")
    var limit: Int?

    func validate() throws {
        guard tag == nil || device == nil else { throw ValidationError("--tag and --device cannot be combined") }
        guard limit.map({ $0 > 0 }) ?? true else { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        let choices = try choices()
        var list = RegistrationList(limit: limit ?? .max, json: options.json)
        for choice in choices where list.isEmpty {
            list = try await options.ask { try await list.adding(choice, of: $0) }
        }
        if device == nil {
            let tag = try tag.map { try Tag($0) }
            list = try await options.ask { try await list.addingInstallations(with: tag, of: $0) }
        } else if list.isEmpty, let id = device.flatMap({ try? InstallationID($0) }) {
            list = try await options.ask { try await list.addingInstallation(id, of: $0) }
        }
        guard list.unreadable == 0 else {
            throw Failure(.failed, "\(list.unreadable) of the registrations cannot be shown")
        }
    }

    /// Returns the queries to the hub, in order; each is used if the previous one finds nothing.
    private func choices() throws(Failure) -> [RegistrationChoice] {
        if let device {
            guard !device.isEmpty, device.utf8.count <= PushChannel.maximumLength else {
                throw Failure(.usage, "--device is neither an installation's id nor a push handle")
            }
            let installation = (try? InstallationID(device)).map { RegistrationChoice.tag(.installation($0)) }
            return [.handle(device)] + (installation.map { [$0] } ?? [])
        }
        guard let tag else { return [.all] }
        do {
            return [.tag(try Tag(tag))]
        } catch {
            throw Failure(.usage, error.detail)
        }
    }
}

/// Prints registrations as they arrive.
private struct RegistrationList {
    let limit: Int
    let json: Bool
    private var listed = 0
    private(set) var unreadable = 0

    init(limit: Int, json: Bool) {
        self.limit = limit
        self.json = json
    }

    var isEmpty: Bool { listed + unreadable == 0 }

    /// Adds agents and pages, which registrations do not include.
    func addingInstallations(with tag: Tag?, of hub: HubClient) async throws -> RegistrationList {
        var list = self
        var (start, last): (String?, Int64) = (nil, -1)
        repeat {
            guard list.listed < limit else { break }
            let found = try await HubError.ifSupported { [start] () throws(HubError) in
                try await hub.streamInstallations(with: tag, from: start, count: InstallationList.maximumListed)
            }
            guard let page = found else { break }
            for entry in page.installations.prefix(limit - list.listed) { list.show(entry.json, entry.row) }
            start = page.next
            // Each page begins later, so that a hub cannot send pages for ever.
            let next = start.flatMap { Int64($0) }
            guard start == nil || next.map({ $0 > last }) ?? false else {
                throw HubError.malformedReply("the list of installations does not end")
            }
            last = next ?? last
        } while start != nil
        return list
    }

    func addingInstallation(_ id: InstallationID, of hub: HubClient) async throws -> RegistrationList {
        var list = self
        if let installation = try await hub.installation(id) {
            let entry = InstallationList.Entry(installation)
            list.show(entry.json, entry.row)
        }
        return list
    }

    private mutating func show(_ value: JSONText, _ row: Output) {
        Console.show(value, asJSON: json, row)
        listed += 1
    }

    func adding(_ choice: RegistrationChoice, of hub: HubClient) async throws -> RegistrationList {
        var list = self
        try await hub.forEachPage(of: choice, limit: limit) { answer in
            for problem in answer.problems { Console.warning("a registration cannot be shown: \(problem)") }
            for registration in answer.registrations.prefix(limit - list.listed) {
                list.show(registration.json, registration.row)
            }
            list.unreadable += answer.problems.count
        }
        return list
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

    @OptionGroup var options: HubRequestOptions

    @Argument(help: ArgumentHelp("The registration's id.", valueName: "id"))
    var id: String

    func run() async throws {
        let id = try identifier()
        let registration = try await options.ask { hub in try await hub.registration(id) }
        Console.show(registration.json, asJSON: options.json, .facts(registration.facts))
    }

    private func identifier() throws(Failure) -> RegistrationID {
        do {
            return try RegistrationID(id)
        } catch {
            throw Failure(.usage, error.detail, hint: "'newswire registrations list' shows the ids of registrations")
        }
    }
}
