import AppBackend
import ArgumentParser
import HostSystem
import HubProtocol
import OutboundHTTP
import Settings

struct UserRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a user with all tokens and devices; the name cannot be reused for 30 days.",
        discussion: """
            The user's devices are deleted at the hub, with the connection string that 'newswire backend' would use. \
            If the hub cannot be reached, the user is removed nevertheless, and a running app backend deletes the \
            devices as soon as the hub answers. If no app backend is running, run the command again.

            EXAMPLES
              newswire user remove alice
              newswire user remove alice --connection-file azure.connection --hub my-hub
            """
    )

    @OptionGroup var users: UserOptions

    @OptionGroup var connection: SettingFlags<BackendConnectionFlags>

    @Argument(help: "The user's name.", completion: .users, transform: UserName.argument)
    var name: UserName

    func run() async throws {
        let settings = try users.configuration.load().overridden(by: connection.values)
        let hub = try HubConnection(settings, BackendSettings.connection)
        // Read before root takes on the rights of the state directory's owner, since only root may be able to read the
        // file.
        let string = Result { try hub.ofBackend()?.string }
        try await users.run { accounts in
            let isThere = try await accounts.account(named: name) != nil
            if isThere {
                try await accounts.remove(name)
            } else if try await accounts.devices(of: name).isEmpty {
                throw AccountError.unknown(name)
            }
            do {
                try await removeDevices(accounts, hub, string)
            } catch {
                throw try await failure(error, remaining: accounts.devices(of: name).count)
            }
            Console.notice(isThere ? "user '\(name)' is removed" : "the devices of removed user '\(name)' are deleted")
        }
    }

    private struct NoConnection: Error {}

    private func removeDevices(
        _ accounts: Accounts,
        _ hub: HubConnection,
        _ string: Result<ConnectionString?, any Error>
    ) async throws {
        // A user without devices needs no hub.
        if try await accounts.devices(of: name).isEmpty { return }
        guard let string = try string.get() else { throw NoConnection() }
        try await withHTTP { http in
            try await accounts.removeDevices(of: name, from: try hub.client(string, http: http))
        }
    }

    /// Returns a failure that reports the number of devices that remain at the hub, and how to delete them.
    private func failure(_ error: any Error, remaining: Int) -> Failure {
        let devices = Counted.text(remaining, "device is", "devices are")
        let left = "user '\(name)' is removed, but \(devices) still registered at the hub"
        let again = "newswire user remove \(name)"
        if error is NoConnection {
            return Failure(
                .badConfiguration,
                "\(left): no connection string was found",
                hint: "run the command again with the hub's connection string: \(again) --connection-file PATH"
            )
        }
        let hint = "notifications to '\(name)' still reach these devices; run the command again: \(again)"
        if (error as? BackendRefusal)?.isTemporary == true {
            return Failure(.hubUnreachable, "\(left): the hub cannot be reached or is too busy", hint: hint)
        }
        let cause = Failure(error)
        return Failure(cause.status, "\(left): \(cause.text)", hint: hint)
    }
}
