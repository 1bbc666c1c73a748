import AppBackend
import ArgumentParser

struct UserAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a user, whose password is typed or in a file.",
        discussion: """
            Names are the same ignoring case. The name of a removed user is free again after 30 days.

            EXAMPLES
              newswire user add alice
              newswire user add desk --may-notify --password-file desk.password
              pass show newswire/bob | newswire user add bob --password-file -
            """
    )

    @OptionGroup var users: UserOptions

    @Argument(help: "The user's name.", transform: UserName.argument)
    var name: UserName

    @Flag(help: "Let the user notify others.")
    var mayNotify = false

    @OptionGroup var newPassword: NewPasswordOptions

    func run() async throws {
        let given = try newPassword.read()
        try await users.runMaking { accounts in
            // Before somebody types a password in vain.
            try await accounts.checkFree(name)
            let password = try given ?? NewPasswordOptions.ask(for: name)
            try await accounts.add(name, password: password, mayNotifyOthers: mayNotify)
        }
        Console.notice("user '\(name)' is added")
    }
}

struct UserPasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password",
        abstract: "Set a user's password; all tokens of the user are revoked.",
        discussion: """
            EXAMPLES
              newswire user password alice
              newswire user password alice --password-file alice.password
            """
    )

    @OptionGroup var users: UserOptions

    @Argument(help: "The user's name.", transform: UserName.argument)
    var name: UserName

    @OptionGroup var newPassword: NewPasswordOptions

    func run() async throws {
        let given = try newPassword.read()
        try await users.run { accounts in
            guard try await accounts.account(named: name) != nil else { throw AccountError.unknown(name) }
            try await accounts.setPassword(of: name, to: given ?? NewPasswordOptions.ask(for: name))
        }
        Console.notice("user '\(name)' has a new password and must log in again everywhere")
    }
}

struct UserRightsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rights",
        abstract: "Let a user notify others, or no longer.",
        discussion: """
            EXAMPLES
              newswire user rights desk --may-notify
              newswire user rights desk --no-may-notify
            """
    )

    @OptionGroup var users: UserOptions

    @Argument(help: "The user's name.", transform: UserName.argument)
    var name: UserName

    @Flag(inversion: .prefixedNo, help: "Let the user notify others.")
    var mayNotify: Bool

    func run() async throws {
        try await users.run { try await $0.setRights(of: name, mayNotifyOthers: mayNotify) }
        Console.notice("user '\(name)' \(mayNotify ? "may notify others" : "may notify nobody else")")
    }
}
