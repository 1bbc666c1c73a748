import AppBackend
import Foundation
import HubClient
import HubProtocol
import HubServer
import Logging
import MountedBackend
import SubscriberAgent

/// The people of a demo: two users, each signed in at their own agent.
struct DemoPeople: Sendable {
    struct Person: Sendable {
        let name: String
        let password: String
    }

    /// One for each agent, in order.
    let people: [Person]
    private let store: BackendStore

    /// Adds the users to the app backend that a hub serves.
    ///
    /// Passwords are random: other users of the machine can reach the hub, too.
    init(_ names: [String], database: String) async throws {
        store = try BackendStore(path: database)
        people = names.map { Person(name: $0, password: UUID().uuidString) }
        let accounts = Accounts(store: store)
        for person in people {
            guard let name = UserName(person.name), let password = Password(person.password) else {
                throw DemoError("'\(person.name)' is not a valid user name")
            }
            try await accounts.add(name, password: password, mayNotifyOthers: true)
        }
    }

    /// Notifies the second user on behalf of the first, once by name and once with a text that only the addressee
    /// fetches.
    ///
    /// - Returns: The texts that the addressee's agent shows.
    func talk(through agent: SubscriberAgent) async throws -> [String] {
        let (sender, addressee) = (people[0].name, people[1].name)
        let backend = try agent.backend()
        let (open, secure) = ("Half-time. Are you watching?", "The code of the door is 4711.")
        try Self.check(await backend.notify(addressee, open, on: "stream"))
        try Self.check(await backend.notifySecurely(addressee, secure))
        return ["From \(sender): \(open)", secure]
    }

    private static func check(_ outcomes: [PlatformOutcome]) throws {
        let accepted = PlatformOutcome.Name.accepted
        guard outcomes.contains(where: { $0.platform == "stream" && $0.outcome == accepted }) else {
            throw DemoError("the app backend did not accept a notification: \(outcomes)")
        }
    }
}
