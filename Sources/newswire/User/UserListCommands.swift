import AppBackend
import ArgumentParser
import HostSystem
import HubProtocol

struct UserListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the users, and which of them may notify others.",
        discussion: """
            EXAMPLES
              newswire user list
              newswire user list --json | jq -r 'select(.mayNotify) | .name'
            """
    )

    @OptionGroup var users: UserOptions

    @Flag(help: "Print one line of JSON for each.")
    var json = false

    private struct Row: Encodable {
        let name: String
        let mayNotify: Bool
        let roles: [String]
        /// The issuer of the identity provider that signs the user in; absent for users with a password.
        let issuer: String?
        let createdAt: String
        let passwordSetAt: String
    }

    func run() async throws {
        for account in try await users.run({ try await $0.list() }) {
            let row = Row(
                name: account.name.text,
                mayNotify: account.mayNotifyOthers,
                roles: account.roles.sorted().map(\.text),
                issuer: account.identity?.issuer,
                createdAt: account.createdAt.wholeSecond,
                passwordSetAt: account.passwordAt.wholeSecond
            )
            Console.print(json ? try JSON.line(row) : Self.line(row))
        }
    }

    private static func line(_ row: Row) -> String {
        let rights = row.mayNotify ? "  may notify others" : ""
        let roles = row.roles.isEmpty ? "" : "  roles: \(row.roles.joined(separator: ", "))"
        let issuer = row.issuer.map { "  signed in by '\($0)'" } ?? ""
        return TerminalText.safe("\(row.name)  added \(row.createdAt)\(rights)\(roles)\(issuer)")
    }
}

struct UserTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens",
        abstract: "List the tokens of a user's devices, or revoke one.",
        discussion: """
            A login issues a token, which is valid for 30 days. Tokens themselves are not stored and cannot be shown. \
            The time of the last use is stored to the hour.

            EXAMPLES
              newswire user tokens alice
              newswire user tokens alice --revoke 17
            """
    )

    @OptionGroup var users: UserOptions

    @Argument(help: "The user's name.", completion: .users, transform: UserName.argument)
    var name: UserName

    @Option(help: ArgumentHelp("Revoke this token.", valueName: "id"))
    var revoke: Int64?

    @Flag(help: "Print one line of JSON for each.")
    var json = false

    private struct Row: Encodable {
        let id: Int64
        /// Absent if the login sent no device name.
        let device: String?
        let createdAt: String
        let usedAt: String
        let expiresAt: String
    }

    func validate() throws {
        if revoke != nil, json { throw ValidationError("--revoke and --json cannot be combined") }
    }

    func run() async throws {
        if let revoke {
            try await users.run { try await $0.revokeToken(revoke, of: name) }
            return Console.notice("token \(revoke) of user '\(name)' is revoked")
        }
        for token in try await users.run({ try await $0.tokens(of: name) }) {
            let row = Row(
                id: token.id,
                device: token.device,
                createdAt: token.createdAt.wholeSecond,
                usedAt: token.usedAt.wholeSecond,
                expiresAt: token.expiresAt.wholeSecond
            )
            Console.print(json ? try JSON.line(row) : Self.line(row))
        }
    }

    private static func line(_ row: Row) -> String {
        let device = row.device.map { "'\($0)'" } ?? "unnamed device"
        let times = "logged in \(row.createdAt)  last used \(row.usedAt)  expires \(row.expiresAt)"
        return TerminalText.safe("\(row.id)  \(device)  \(times)")
    }
}

struct UserAuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Show sign-ins, refusals and changes of the last 90 days.",
        discussion: """
            Equal events that follow each other closely are shown as one line with their number. Names that belong to \
            no user are not stored.

            EXAMPLES
              newswire user audit
              newswire user audit --user alice --last 500 --json
            """
    )

    @OptionGroup var users: UserOptions

    @Option(
        help: ArgumentHelp("Show only events of this user.", valueName: "name"),
        completion: .users,
        transform: UserName.argument
    )
    var user: UserName?

    @Option(help: "The number of events to show, newest first.")
    var last = 50

    @Flag(help: "Print one line of JSON for each.")
    var json = false

    private struct Row: Encodable {
        let at: String
        /// The time of the last of `count` equal events.
        let lastAt: String
        let count: Int
        /// Absent if the name belongs to no user.
        let who: String?
        let what: String
        let outcome: String
        /// Absent for events at the command line.
        let network: String?
    }

    func validate() throws {
        guard last > 0 else { throw ValidationError("--last must be at least 1, not \(last)") }
    }

    func run() async throws {
        for record in try await users.run({ try await $0.audit(of: user, limit: last) }) {
            let row = Row(
                at: record.at.wholeSecond,
                lastAt: record.lastAt.wholeSecond,
                count: record.count,
                who: record.who,
                what: record.what,
                outcome: record.outcome,
                network: record.network
            )
            Console.print(json ? try JSON.line(row) : Self.line(row))
        }
    }

    private static func line(_ row: Row) -> String {
        let isRequest = row.outcome != AuditEvent.Outcome.done.text
        let place = row.network.map { "from \($0)" } ?? (isRequest ? "from several networks" : "at the command line")
        let number = row.count > 1 ? "  \(row.count) times until \(row.lastAt)" : ""
        return TerminalText.safe("\(row.at)  \(row.who ?? "-")  \(row.what)  \(row.outcome)  \(place)\(number)")
    }
}
