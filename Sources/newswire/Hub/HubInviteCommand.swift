import ArgumentParser
import Formats
import Foundation
import HostSystem
import HubProtocol
import PageServer
import Settings

struct HubInviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract:
            "Print a link for a reader or an operator, an address of feeds, or a code for another hub of the log.",
        discussion: """
            Readers on other machines need an invitation unless the setting 'pages' is 'public'. The link works once, \
            within seven days. The hub must have run once, since the link contains its address.

            With --operator the link opens the operator's view instead. It works once, within an hour, and its session \
            lasts 12 hours. Whoever has the link can send messages: do not pass it on.

            With --feed it prints the address of a feed with a secret, for feed readers, which cannot sign in. It works \
            for the feeds of all categories until it is ended, or is not used for 60 days.

            With --node it prints a code for another machine, which becomes one more hub that shares this hub's log: \
            'newswire hub join' asks for it there. The code works once, within an hour, and is as secret as all of the \
            hub's keys. Run it on the machine of a running hub. A new code ends an earlier one.

            --list shows invitations that can still be used, and --end ends one of them. A reader who has used a link \
            already keeps the access.

            EXAMPLES
              newswire hub invite
              newswire hub invite --operator
              newswire hub invite --hub town
              newswire hub invite --feed --category Sports
              newswire hub invite --node d
              newswire hub invite --list
              newswire hub invite --end feed-1
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<HubNameFlags>

    @Flag(name: .customLong("operator"), help: "Print a link to the operator's view.")
    var isForOperator = false

    @Flag(name: .customLong("feed"), help: "Print the address of a feed.")
    var isForFeed = false

    @Option(
        help: ArgumentHelp("The category of the feed (default: World).", valueName: "name"),
        completion: .categories
    )
    var category: String?

    @Option(
        name: .customLong("node"),
        help: ArgumentHelp("Print a code for one more hub of the log, with this name in it.", valueName: "name")
    )
    var node: String?

    @Option(
        help: ArgumentHelp(
            "The key of the authority that signs certificates for the log (default: ca.key beside 'log-ca').",
            valueName: "path"
        ),
        completion: .file()
    )
    var logCaKey: String?

    @Flag(help: "List the invitations that can still be used.")
    var list = false

    @Flag(help: "Print one line of JSON for each invitation of --list.")
    var json = false

    @Option(help: ArgumentHelp("End an invitation, by its id in --list.", valueName: "id"))
    var end: String?

    func validate() throws {
        let actions = [isForOperator, isForFeed, node != nil, list, end != nil].count { $0 }
        guard actions <= 1 else {
            throw ValidationError("--operator, --feed, --node, --list and --end cannot be combined")
        }
        guard logCaKey == nil || node != nil else { throw ValidationError("--log-ca-key needs --node") }
        guard category == nil || isForFeed else { throw ValidationError("--category needs --feed") }
        guard !json || list else { throw ValidationError("--json needs --list") }
    }

    func run() async throws {
        let settings = try configuration.load()
        if let node { return try NodeInviter(node, settings, configuration.config, logCaKey).run() }
        let state = try HubState.existing(settings)
        let hub = try HubName(given: settings.value(HubSettings.name))
        if list || end != nil {
            let store = try HubState.pages(in: state, settings)
            if let end { return try await endInvitation(end, store, of: hub) }
            return try await printInvitations(store, of: hub)
        }
        guard settings.value(HubSettings.pages) != .off else {
            throw Failure(
                .badConfiguration,
                "cannot invite to '\(hub)': the setting 'pages' is 'off'",
                hint: "set it to 'invited' or 'public', and restart the hub"
            )
        }
        guard HostFile.exists(state.file(HubFiles.endpoint)) else {
            throw HubState.noHub(in: state, settings, "no hub has run with the state directory")
        }
        // Nobody could use an invitation that was stored before one of these fails.
        let feed = try feedFile()
        let address = try HubFiles.webAddress(in: state.path)
        let (link, notice) = try await invite(try HubState.pagesOrNew(in: state), to: hub, feed)
        Console.print("\(address)-/\(hub)/\(link)")
        Console.notice(notice)
    }

    private func feedFile() throws(Failure) -> String {
        do {
            return "feeds/\(PercentEncoding.encode(try Tag(category ?? CategoryList.standard[0]).text)).atom"
        } catch {
            throw Failure(.usage, error.detail)
        }
    }

    /// Returns a link, relative to the hub's pages, and what the operator should know.
    private func invite(_ store: PageStore, to hub: HubName, _ feed: String) async throws -> (String, String) {
        let now = Timestamp(Date())
        if isForFeed {
            return (
                "\(feed)?token=\(try await store.inviteFeedReader(to: hub, at: now))",
                "the address is secret, and works until it is ended or is not used for 60 days: "
                    + "see 'newswire hub invite --list'"
            )
        }
        if isForOperator {
            let code = try await store.inviteOperator(of: hub, at: now).code
            return ("admin/enter?code=\(code)", "the link works once, within an hour")
        }
        return ("enter?code=\(try await store.invite(to: hub, at: now).code)", "the link works once, within seven days")
    }

    // MARK: - Invitations that can still be used

    private func printInvitations(_ store: PageStore, of hub: HubName) async throws {
        for invitation in try await store.openInvitations(to: hub, at: Timestamp(Date())) {
            let (createdAt, expiresAt) = (invitation.createdAt.wholeSecond, invitation.expiresAt.wholeSecond)
            let usedAt = invitation.usedAt?.wholeSecond
            let members: JSONText = [
                "createdAt": JSONText(createdAt), "expiresAt": JSONText(expiresAt), "id": JSONText(invitation.id),
                "isOfReader": JSONText(invitation.isOfReader), "kind": JSONText(invitation.kind.rawValue),
                "usedAt": JSONText(usedAt),
            ]
            let use = usedAt.map { ", last used \($0)" } ?? ""
            let what = "\(Self.name(of: invitation)), created \(createdAt)\(use), until \(expiresAt)"
            Console.show(members, asJSON: json, .row(invitation.id, what))
        }
    }

    private static func name(of invitation: OpenInvitation) -> String {
        switch invitation.kind {
        case .reader: "link for a reader"
        case .operator: "link for an operator"
        case .feed: invitation.isOfReader ? "address of feeds, made by a reader" : "address of feeds"
        }
    }

    private func endInvitation(_ id: String, _ store: PageStore, of hub: HubName) async throws {
        guard try await store.endInvitation(id, of: hub) else {
            throw Failure(
                .failed,
                "the hub '\(hub)' has no invitation '\(id)'",
                hint: "'newswire hub invite --list' shows the ids of invitations"
            )
        }
    }
}
