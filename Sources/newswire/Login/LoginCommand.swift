import AppBackend
import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import SubscriberAgent

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Log in at the app backend, so that this agent gets what is sent to you by name.",
        discussion: """
            The password is typed at the terminal or read from a file, and exchanged for a token that is valid for 30 days. \
            The token is kept in the agent's state directory, for this user only; the password is not kept. An agent that \
            has subscribed is registered as you at once, also while it runs.

            The app backend is the one of the last login, else the one that the agent's hub serves on its own port. \
            --backend names another. Its certificate is checked with --ca-file; without it with the hub's authority if \
            both have the same host name, else with the system's.

            A login under another name drops the messages that still wait at the hub for this agent, since they may be \
            for the previous user.

            EXAMPLES
              newswire login --user alice
              newswire login --user alice --backend https://push.example.org:8788 --ca-file push-ca.pem
              pass show newswire/alice | newswire login --user alice --password-file -
            """
    )

    @OptionGroup var agent: AgentOptions

    @Option(help: ArgumentHelp("Your name at the app backend.", valueName: "name"), transform: UserName.argument)
    var user: UserName

    @Option(
        help: ArgumentHelp(
            "The file that holds the password; '-' is standard input. Without it you are asked at the terminal.",
            valueName: "path"
        )
    )
    var passwordFile: String?

    @Option(
        help: ArgumentHelp("The app backend's address.", valueName: "url"),
        transform: { text in
            do throws(BackendAddressError) {
                return try BackendAddress(parsing: text)
            } catch {
                throw ValidationError("\(error)")
            }
        }
    )
    var backend: BackendAddress?

    @Option(
        help: ArgumentHelp(
            "A name for this device in 'newswire user tokens' (default: the machine's name and the profile).",
            valueName: "name"
        )
    )
    var device: String?

    func run() async throws {
        // Before a command of root takes on the rights of the agent's user: the file may be root's.
        let given = try passwordFile.map { try Self.password($0) }
        try await agent.withAgent { agent, _ in
            let address: BackendAddress
            if let backend { address = backend } else { address = try await agent.standardBackend() }
            let password = try given ?? ask(address)
            let login = try await agent.logIn(
                user: user.text,
                password: password,
                at: address,
                device: device ?? standardDevice
            )
            Console.notice("logged in as '\(login.user)' at \(login.backend) until \(login.expires)")
            if login.isRegistered == nil {
                Console.hint("newswire subscribe --categories World,Sports; notifications to you come with the news")
            }
        }
    }

    private static func password(_ path: String) throws -> String {
        let text = try NewPasswordOptions.text(of: path)
        guard !text.isEmpty else { throw Failure(.usage, "\(NewPasswordOptions.name(of: path)) holds no password") }
        return text
    }

    private func ask(_ address: BackendAddress) throws -> String {
        let password = try NewPasswordOptions.line("Password of \(user) at \(address): ")
        guard !password.isEmpty else { throw Failure(.failed, "no password was given; nothing was changed") }
        return password
    }

    private var standardDevice: String {
        let machine = MachineNames.all(patience: .zero).first ?? "unknown machine"
        return "newswire on \(machine)" + (agent.profile == "default" ? "" : ", profile \(agent.profile)")
    }
}

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Revoke and forget the token of this agent's login.",
        discussion: """
            The agent goes on with its categories, and gets nothing more that is sent to you by name. The token is \
            deleted on this machine even if the app backend cannot be reached; a warning says how long it stays valid there, \
            and 'newswire user tokens' revokes it. A login file that is damaged is deleted as well.

            EXAMPLES
              newswire logout
            """
    )

    @OptionGroup var agent: AgentOptions

    func run() async throws {
        try await agent.withAgent { agent, _ in
            guard let ended = try await agent.logOut() else { return Console.notice("nobody was logged in") }
            Console.notice(ended.user.map { "logged out '\($0)'" } ?? "the login is deleted")
        }
    }
}
