import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import PageServer
import Settings

struct HubInviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Print a link that lets one browser read the hub's pages.",
        discussion: """
            Readers on other machines need an invitation unless the setting 'pages' is 'public'. The link works once, \
            for seven days. The hub must run: its address is in the link.

            EXAMPLES
              newswire hub invite
              newswire hub invite --hub town
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    @Option(HubSettings.name, "hub")
    var name: String?

    func run() async throws {
        let settings = try stateOptions.configuration.load()
        let state = try stateOptions.directory(settings)
        let hub = try HubName(given: settings.value(HubSettings.name, flag: name))
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
        let store: PageStore
        do throws(PageStoreError) {
            store = try PageStore(path: state.file(HubFiles.pages))
        } catch {
            throw Failure(.badConfiguration, "cannot use \(error)")
        }
        let invitation = try await store.invite(to: hub, at: Timestamp(Date()))
        let port = url.port.map { ":\($0)" } ?? ""
        Console.print("https://\(host)\(port)/-/\(hub)/enter?code=\(invitation.code)")
        Console.notice("the link works once, for seven days")
    }
}
