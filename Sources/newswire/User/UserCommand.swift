import AppBackend
import ArgumentParser
import Foundation
import HostSystem
import SQLiteFiles
import Settings
import StartupChecks

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Manage the people who sign in at the app backend.",
        discussion: """
            The accounts are stored in the hub's state directory, and a running server applies every change at once. \
            Users may notify themselves; --may-notify, or a role in the setting 'may-notify-roles', allows a user to \
            notify others.
            """,
        subcommands: [
            UserAddCommand.self, UserPasswordCommand.self, UserRightsCommand.self, UserRemoveCommand.self,
            UserListCommand.self, UserDevicesCommand.self, UserTokensCommand.self, UserAuditCommand.self,
        ]
    )
}

/// Options that select the accounts of a command.
struct UserOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions<HubStateFlags>

    /// Calls `work` with the accounts of an existing app backend.
    func run<Output>(_ work: (Accounts) async throws -> Output) async throws -> Output {
        let state = try HubState.existing(try configuration.load())
        if let shared = try Self.shared(in: state, suffixes: []) { return try await work(shared) }
        guard HostFile.exists(state.file(HubFiles.backend)) || HostFile.exists(state.file(HubFiles.backendKey)) else {
            throw Failure(
                .badConfiguration,
                "there are no users in '\(state.path)'",
                hint: "add one: newswire user add NAME"
            )
        }
        return try await run(in: state, suffixes: [], work)
    }

    /// Calls `work` with the accounts, and creates their database if there is none.
    func runMaking<Output>(_ work: (Accounts) async throws -> Output) async throws -> Output {
        let settings = try configuration.load()
        let suffixes = IdentitySettings(settings).foreignSuffixes
        return try await run(in: try HubState.existingOrNew(settings), suffixes: suffixes, work)
    }

    /// The accounts in the hub's own file; `nil` if they have a file of their own.
    private static func shared(in state: StateDirectory, suffixes: [NameSuffix]) throws -> Accounts? {
        try PeopleTables(in: state).map { Accounts(store: BackendStore(in: $0), foreignSuffixes: suffixes) }
    }

    private func run<Output>(
        in state: StateDirectory,
        suffixes: [NameSuffix],
        _ work: (Accounts) async throws -> Output
    ) async throws -> Output {
        if let shared = try Self.shared(in: state, suffixes: suffixes) { return try await work(shared) }
        let path = state.file(HubFiles.backend)
        return try await DatabaseFileError.naming(path) {
            let store = try BackendStore(path: path, signs: [state.file(HubFiles.backendKey)])
            return try await work(Accounts(store: store, foreignSuffixes: suffixes))
        }
    }
}

extension UserName {
    /// Parses an argument of a command.
    @Sendable static func argument(_ text: String) throws -> UserName {
        guard let name = UserName(text) else {
            let allowed = "1 to 64 letters without accents, digits and '.', '_', '@' or '-'"
            throw ValidationError("'\(TerminalText.safe(text))' is not a valid user name: use \(allowed)")
        }
        return name
    }
}

extension Role {
    /// Parses an option of a command.
    @Sendable static func option(_ text: String) throws -> Role {
        guard let role = Role(text) else {
            throw ValidationError(
                "'\(TerminalText.safe(text))' is not a valid role: use up to 128 characters without commas"
            )
        }
        return role
    }
}
