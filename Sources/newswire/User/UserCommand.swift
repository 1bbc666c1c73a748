import AppBackend
import ArgumentParser
import Foundation
import HostSystem
import HubServer
import Settings
import StartupChecks

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Manage the people who sign in at the app backend.",
        discussion: """
            The accounts are kept beside the hub's database, and a running server follows every change at once. \
            Everybody may notify themselves; --may-notify lets a user notify others, and so does a role that the \
            configuration lists in 'may-notify-roles'.
            """,
        subcommands: [
            UserAddCommand.self, UserPasswordCommand.self, UserRightsCommand.self, UserRemoveCommand.self,
            UserListCommand.self, UserDevicesCommand.self, UserTokensCommand.self, UserAuditCommand.self,
        ]
    )
}

/// Options by which a command finds the accounts.
struct UserOptions: ParsableArguments {
    @OptionGroup var stateOptions: HubStateOptions

    /// Runs work on the accounts of the existing app backend.
    func run<Output>(_ work: (Accounts) async throws -> Output) async throws -> Output {
        let state = try directory()
        guard HostFile.exists(state.file(HubFiles.backend)) else {
            throw Failure(
                .badConfiguration,
                "there are no users in '\(state.path)'",
                hint: "add one: newswire user add NAME"
            )
        }
        return try await run(in: state, suffixes: [], work)
    }

    /// Runs work on the accounts, in a new file if there is none.
    func runMaking<Output>(_ work: (Accounts) async throws -> Output) async throws -> Output {
        let suffixes = IdentitySettings(try stateOptions.configuration.load()).foreignSuffixes
        return try await run(in: try directory(), suffixes: suffixes, work)
    }

    private func directory() throws -> StateDirectory {
        try stateOptions.directory(try stateOptions.configuration.load())
    }

    private func run<Output>(
        in state: StateDirectory,
        suffixes: [NameSuffix],
        _ work: (Accounts) async throws -> Output
    ) async throws -> Output {
        let path = state.file(HubFiles.backend)
        do {
            return try await work(Accounts(store: try BackendStore(path: path), foreignSuffixes: suffixes))
        } catch {
            guard let trouble = HubDatabase.trouble(error) else { throw error }
            let status: ExitStatus = trouble.isTemporary ? .tryLater : .badConfiguration
            throw Failure(status, "cannot use '\(path)': \(trouble.reason)")
        }
    }
}

extension UserName {
    /// Reads an argument of a command.
    @Sendable static func argument(_ text: String) throws -> UserName {
        guard let name = UserName(text) else {
            let allowed = "1 to 64 letters without accents, digits and '.', '_', '@' or '-'"
            throw ValidationError("'\(TerminalText.safe(text))' is not a valid user name: use \(allowed)")
        }
        return name
    }
}

extension Role {
    /// Reads an option of a command.
    @Sendable static func option(_ text: String) throws -> Role {
        guard let role = Role(text) else {
            throw ValidationError(
                "'\(TerminalText.safe(text))' is not a valid role: use up to 128 characters without commas"
            )
        }
        return role
    }
}
