import AppBackend
import ArgumentParser
import Formats
import HubProtocol

struct UserDevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List the devices of a user.",
        discussion: """
            The list comes from the app backend's database, without a request to the hub, so that a registration that \
            has expired at the hub may still be listed. Push handles are not stored. The time of a device's last \
            registration is stored to the day.

            EXAMPLES
              newswire user devices alice
              newswire user devices alice --json | jq -r .id
            """
    )

    @OptionGroup var users: UserOptions

    @Argument(help: "The user's name.", completion: .users, transform: UserName.argument)
    var name: UserName

    @Flag(help: "Print one line of JSON per device.")
    var json = false

    func run() async throws {
        let devices = try await users.run { accounts in
            let devices = try await accounts.devices(of: name)
            // A removed user's devices are listed until they are deleted at the hub.
            if devices.isEmpty, try await accounts.account(named: name) == nil { throw AccountError.unknown(name) }
            return devices
        }
        for device in devices {
            let (kind, changedAt) = (device.kind.rawValue, device.changedAt.wholeSecond)
            // A device is confirmed unless it is unknown whether the hub has made the last change.
            let members: JSONText = [
                "changedAt": JSONText(changedAt), "confirmed": JSONText(device.isConfirmed),
                "id": JSONText(device.id), "kind": JSONText(kind),
            ]
            let doubt = device.isConfirmed ? nil : "not confirmed by the hub"
            Console.show(members, asJSON: json, .row(kind, device.id, "registered \(changedAt)", doubt))
        }
    }
}
