import AppBackend
import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import SubscriberAgent

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Log in at the app backend, so that this agent gets notifications to you.",
        discussion: """
            The password is typed on the terminal or read from a file, and exchanged for a token that is valid for 30 \
            days. The token is stored in the agent's state directory, readable only by you; the password is not \
            stored. An agent that has subscribed is registered as you at once, even while it runs.

            The app backend is that of the last login, else that of the agent's hub, on the hub's port. Select another \
            with --backend. Its certificate is checked with --ca-file; without it, with the hub's authority if both \
            have the same host name, else with the system's.

            If you log in under another name, messages that are still pending for this agent at the hub are dropped, \
            since they may be for the previous user.

            EXAMPLES
              newswire login --user alice
              newswire login --user alice --backend https://push.example.org:8788 --ca-file push-ca.pem
              pass show newswire/alice | newswire login --user alice --password-file -
            """
    )

    @OptionGroup var agent: AgentOptions

    @Option(help: ArgumentHelp("Your name at the app backend.", valueName: "name"), transform: UserName.argument)
    var user: UserName

    @OptionGroup var password: PasswordOptions

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
            "The name of this device in 'newswire user tokens' (default: the machine's name and the profile).",
            valueName: "name"
        )
    )
    var device: String?

    func run() async throws {
        // Read before root takes on the rights of the agent's user, since only root may be able to read the file.
        let given = try password.passwordFile.map { try Self.password($0) }
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
                Console.hint("newswire subscribe --categories World,Sports; it also receives notifications to you")
            }
        }
    }

    private static func password(_ path: String) throws -> String {
        let text = try PasswordOptions.text(of: path)
        guard !text.isEmpty else { throw Failure(.usage, "\(PasswordOptions.name(of: path)) contains no password") }
        return text
    }

    private func ask(_ address: BackendAddress) throws -> String {
        let password = try PasswordOptions.line("Password of \(user) at \(address): ")
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
        abstract: "Revoke and delete the token of this agent's login.",
        discussion: """
            The agent keeps its categories, and no longer gets notifications to you. The token is deleted on this \
            machine even if the app backend cannot be reached; a warning then says how long it remains valid there, \
            and 'newswire user tokens' revokes it. A damaged login file is deleted as well.

            EXAMPLES
              newswire logout
            """
    )

    @OptionGroup var agent: AgentOptions

    func run() async throws {
        let hasAgent = try await agent.withExistingAgent { agent, _ in
            guard let ended = try await agent.logOut() else { return Console.notice("nobody was logged in") }
            Console.notice(ended.user.map { "logged out '\($0)'" } ?? "the login file is deleted")
        }
        if !hasAgent { Console.notice("nobody was logged in") }
    }
}
