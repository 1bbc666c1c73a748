import AppBackend
import ArgumentParser
import HostSystem

struct UserAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a user, with a password that is typed or in a file.",
        discussion: """
            Case in names is ignored. The name of a removed user can be reused after 30 days.

            EXAMPLES
              newswire user add alice
              newswire user add desk --may-notify --password-file desk.password
              newswire user add carol --role editors
              pass show newswire/bob | newswire user add bob --password-file -
            """
    )

    @OptionGroup var users: UserOptions

    @Argument(help: "The user's name.", transform: UserName.argument)
    var name: UserName

    @Flag(help: "Let the user notify others.")
    var mayNotify = false

    @Option(
        help: ArgumentHelp("Give the user this role; can be repeated.", valueName: "name"),
        transform: Role.option
    )
    var role: [Role] = []

    @OptionGroup var newPassword: PasswordOptions

    func run() async throws {
        let given = try newPassword.read()
        try await users.runMaking { accounts in
            // Check before asking for a password.
            try await accounts.checkFree(name)
            let password = try given ?? PasswordOptions.ask(for: name)
            try await accounts.add(name, password: password, mayNotifyOthers: mayNotify, roles: Set(role))
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

    @Argument(help: "The user's name.", completion: .users, transform: UserName.argument)
    var name: UserName

    @OptionGroup var newPassword: PasswordOptions

    func run() async throws {
        let given = try newPassword.read()
        try await users.run { accounts in
            // Check before asking for a password.
            try await accounts.checkPassword(of: name)
            try await accounts.setPassword(of: name, to: given ?? PasswordOptions.ask(for: name))
        }
        Console.notice("user '\(name)' has a new password and must log in again everywhere")
    }
}

struct UserRightsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rights",
        abstract: "Allow or forbid a user to notify others and to use the desk; add and remove roles.",
        discussion: """
            Users with a role in the setting 'may-notify-roles' may notify others as well. Roles from an identity \
            provider are neither shown nor changed. The desk writes, sends, corrects and withdraws messages on the \
            hub's pages; a user with --desk sees nothing else of the operator's view.

            EXAMPLES
              newswire user rights desk --may-notify
              newswire user rights desk --no-may-notify
              newswire user rights anna --desk
              newswire user rights carol --role editors --without-role interns
            """
    )

    @OptionGroup var users: UserOptions

    @Argument(help: "The user's name.", completion: .users, transform: UserName.argument)
    var name: UserName

    @Flag(inversion: .prefixedNo, help: "Allow the user to notify others.")
    var mayNotify: Bool?

    @Flag(inversion: .prefixedNo, help: "Allow the user to send messages at the desk of the hub's pages.")
    var desk: Bool?

    @Option(
        help: ArgumentHelp("Give the user this role; can be repeated.", valueName: "name"),
        transform: Role.option
    )
    var role: [Role] = []

    @Option(
        help: ArgumentHelp("Take this role from the user; can be repeated.", valueName: "name"),
        transform: Role.option
    )
    var withoutRole: [Role] = []

    func validate() throws {
        guard mayNotify != nil || desk != nil || !role.isEmpty || !withoutRole.isEmpty else {
            throw ValidationError("pass --may-notify, --desk, one of them with --no-, --role or --without-role")
        }
        if let both = Set(role).intersection(withoutRole).first {
            throw ValidationError("--role and --without-role cannot both name '\(TerminalText.safe(both.text))'")
        }
    }

    func run() async throws {
        try await users.run { accounts in
            try await accounts.setRights(
                of: name,
                mayNotifyOthers: mayNotify,
                mayUseDesk: desk,
                adding: Set(role),
                removing: Set(withoutRole)
            )
        }
        if let mayNotify {
            Console.notice("user '\(name)' may \(mayNotify ? "" : "not ")notify others")
        }
        if let desk { Console.notice("user '\(name)' may \(desk ? "" : "not ")use the desk") }
        if !role.isEmpty || !withoutRole.isEmpty { Console.notice("the roles of user '\(name)' are changed") }
    }
}
