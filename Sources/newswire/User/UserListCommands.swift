import AppBackend
import ArgumentParser
import Formats
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

    func run() async throws {
        for account in try await users.run({ try await $0.list() }) {
            let (name, createdAt) = (account.name.text, account.createdAt.wholeSecond)
            let roles = account.roles.sorted().map(\.text)
            // The identity provider that signs the user in; absent for users with a password.
            let issuer = account.identity?.issuer
            let members: JSONText = [
                "createdAt": JSONText(createdAt), "issuer": JSONText(issuer),
                "mayNotify": JSONText(account.mayNotifyOthers), "mayUseDesk": JSONText(account.mayUseDesk),
                "name": JSONText(name),
                "passwordSetAt": JSONText(account.passwordAt.wholeSecond), "roles": JSONText(strings: roles),
            ]
            let row = Output.row(
                name,
                "added \(createdAt)",
                account.mayNotifyOthers ? "may notify others" : nil,
                account.mayUseDesk ? "may use the desk" : nil,
                roles.isEmpty ? nil : "roles: \(roles.joined(separator: ", "))",
                issuer.map { "signed in by '\($0)'" }
            )
            Console.show(members, asJSON: json, row)
        }
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

    func validate() throws {
        if revoke != nil, json { throw ValidationError("--revoke and --json cannot be combined") }
    }

    func run() async throws {
        if let revoke {
            try await users.run { try await $0.revokeToken(revoke, of: name) }
            return Console.notice("token \(revoke) of user '\(name)' is revoked")
        }
        for token in try await users.run({ try await $0.tokens(of: name) }) {
            let (createdAt, usedAt) = (token.createdAt.wholeSecond, token.usedAt.wholeSecond)
            let expiresAt = token.expiresAt.wholeSecond
            let members: JSONText = [
                // Absent if the login sent no device name.
                "createdAt": JSONText(createdAt), "device": JSONText(token.device),
                "expiresAt": JSONText(expiresAt), "id": JSONText(token.id), "usedAt": JSONText(usedAt),
            ]
            let row = Output.row(
                "\(token.id)",
                token.device.map { "'\($0)'" } ?? "unnamed device",
                "logged in \(createdAt)",
                "last used \(usedAt)",
                "expires \(expiresAt)"
            )
            Console.show(members, asJSON: json, row)
        }
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

    func validate() throws {
        guard last > 0 else { throw ValidationError("--last must be at least 1, not \(last)") }
    }

    func run() async throws {
        for record in try await users.run({ try await $0.audit(of: user, limit: last) }) {
            let (at, lastAt) = (record.at.wholeSecond, record.lastAt.wholeSecond)
            // Names that belong to no user, and networks of events at the command line, are absent.
            let members: JSONText = [
                "at": JSONText(at), "count": JSONText(record.count), "lastAt": JSONText(lastAt),
                "network": JSONText(record.network), "outcome": JSONText(record.outcome),
                "what": JSONText(record.what), "who": JSONText(record.who),
            ]
            let isRequest = record.outcome != AuditEvent.Outcome.done.rawValue
            let row = Output.row(
                at,
                record.who ?? "-",
                record.what,
                record.outcome,
                record.network.map { "from \($0)" } ?? (isRequest ? "from several networks" : "at the command line"),
                record.count > 1 ? "\(record.count) times until \(lastAt)" : nil
            )
            Console.show(members, asJSON: json, row)
        }
    }
}
