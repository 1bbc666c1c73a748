import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import PageServer
import Settings
import WebPages

struct HubInviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Print a link that lets one browser read the hub's pages, or manage the hub.",
        discussion: """
            Readers on other machines need an invitation unless the setting 'pages' is 'public'. The link works once, \
            within seven days. The hub must have run once, since the link contains its address.

            With --operator the link opens the operator's view instead. It works once, within an hour, and its session \
            lasts 12 hours. Whoever has the link can send messages: do not pass it on.

            EXAMPLES
              newswire hub invite
              newswire hub invite --operator
              newswire hub invite --hub town
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    @Option(HubSettings.name, "hub")
    var name: String?

    @Flag(name: .customLong("operator"), help: "Print a link to the operator's view.")
    var isForOperator = false

    func run() async throws {
        let settings = try stateOptions.configuration.load()
        let state = try stateOptions.directory(settings)
        let hub = try HubName(given: settings.value(HubSettings.name, flag: name))
        guard settings.value(HubSettings.pages) != .off else {
            throw Failure(
                .badConfiguration,
                "cannot invite to '\(hub)': the setting 'pages' is 'off'",
                hint: "set it to 'invited' or 'public', and restart the hub"
            )
        }
        guard let endpoint = try? PrivateFile.read(state.file(HubFiles.endpoint), limit: 4_096),
            let url = URLComponents(string: endpoint.trimmingCharacters(in: .whitespacesAndNewlines)),
            let host = url.host
        else {
            throw Failure(
                .badConfiguration,
                "no hub has run with the state directory '\(state.path)'",
                hint: "start it first: newswire hub"
            )
        }
        let store = try PageStore(path: state.file(HubFiles.pages))
        let (path, life) = try await link(store, to: hub)
        let port = url.port.map { ":\($0)" } ?? ""
        Console.print("https://\(host)\(port)/-/\(hub)/\(path)")
        Console.notice("the link works once, within \(life)")
    }

    /// Returns the link, relative to the hub's pages, and its lifetime.
    private func link(_ store: PageStore, to hub: HubName) async throws -> (path: String, life: String) {
        let now = Timestamp(Date())
        guard isForOperator else {
            return ("enter?code=\(try await store.invite(to: hub, at: now).code)", "seven days")
        }
        return ("admin/enter?code=\(try await store.inviteOperator(of: hub, at: now).code)", "an hour")
    }
}
