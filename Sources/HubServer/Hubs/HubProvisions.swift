package import HubProtocol
import HubRouting
import HubStore
import Logging

/// Hubs and rules that are created or updated at each start; all others stay as they are.
package struct HubProvisions: Sendable, Equatable {
    package struct Hub: Sendable, Equatable {
        package let name: HubName
        /// `nil` leaves the present value.
        package let registrationTimeToLive: RegistrationTimeToLive?
        /// The rules, which get exactly these keys and rights.
        package let rules: [AccessRule]
        /// The credentials, which replace those of the same platform.
        package let credentials: [PlatformCredential]

        package init(
            name: HubName,
            registrationTimeToLive: RegistrationTimeToLive?,
            rules: [AccessRule],
            credentials: [PlatformCredential] = []
        ) {
            self.name = name
            self.registrationTimeToLive = registrationTimeToLive
            self.rules = rules
            self.credentials = credentials
        }
    }

    package var hubs: [Hub] = []
    package var namespaceRules: [AccessRule] = []

    package init() {}
}

/// The reason why the configured hubs cannot be created.
package enum HubProvisionError: Error, CustomStringConvertible {
    case tooManyRules(hub: HubName, count: Int)
    case tooManyHubs

    package var description: String {
        switch self {
        case .tooManyRules(let hub, let count):
            """
            with the configured rules, hub '\(hub)' would have \(count) rules; the maximum is \
            \(AuthorizationRule.maximumCount): configure fewer, or delete some with an SDK
            """
        case .tooManyHubs:
            "with the configured hubs, the server would exceed its maximum of \(HubManagement.maximumHubs) hubs"
        }
    }
}

extension HubProvisions {
    /// A report of the changes to one hub, or to the namespace.
    struct Note: Sendable, Equatable {
        /// `nil` for the namespace.
        let hub: HubName?
        var isNew = false
        var rules: [String] = []
        var hasTimeToLive = false
        var hasCredentials = false

        fileprivate var isEmpty: Bool { !isNew && rules.isEmpty && !hasTimeToLive && !hasCredentials }

        func log(_ logger: Logger) {
            let rules = rules.joined(separator: ", ")
            guard let hub else {
                return logger.notice(
                    "the namespace's rules were set from the configuration",
                    metadata: ["rule.names": "\(rules)"]
                )
            }
            logger.notice(
                isNew ? "a hub was created from the configuration" : "a hub was updated from the configuration",
                metadata: ["hub.name": "\(hub)", "rule.names": "\(rules)"]
            )
        }
    }

    func apply(_ transaction: Transaction, at now: Timestamp) throws -> [Note] {
        var notes = [try applyNamespace(transaction, at: now)]
        var known = try transaction.hubs()
        for hub in hubs {
            if let place = known.firstIndex(where: { $0.record.name == hub.name }) {
                notes.append(try hub.apply(to: &known[place], transaction, at: now))
            } else {
                guard known.count < HubManagement.maximumHubs else { throw HubProvisionError.tooManyHubs }
                known.append(try hub.make(transaction, at: now))
                notes.append(Note(hub: hub.name, isNew: true, rules: hub.rules.map(\.name)))
            }
        }
        return notes.filter { !$0.isEmpty }
    }

    private func applyNamespace(_ transaction: Transaction, at now: Timestamp) throws -> Note {
        let known = try transaction.namespaceRules()
        let changed = namespaceRules.filter { !known.contains($0) }
        for rule in changed { try transaction.putNamespaceRule(rule, at: now) }
        return Note(hub: nil, rules: changed.map(\.name))
    }
}

extension HubProvisions.Hub {
    fileprivate func make(_ transaction: Transaction, at now: Timestamp) throws -> StoredHub {
        let standard = AccessRule.standardRules().filter { rule in !rules.contains { $0.name == rule.name } }
        let count = standard.count + rules.count
        guard count <= AuthorizationRule.maximumCount else {
            throw HubProvisionError.tooManyRules(hub: name, count: count)
        }
        let description = NotificationHubDescription(
            registrationTimeToLive: registrationTimeToLive ?? .unlimited,
            credentials: credentials,
            rules: (standard + rules).map { AuthorizationRule($0, createdAt: now, modifiedAt: now) }
        )
        return try transaction.insertHub(name, description, at: now)
    }

    fileprivate func apply(
        to stored: inout StoredHub,
        _ transaction: Transaction,
        at now: Timestamp
    ) throws -> HubProvisions.Note {
        var note = HubProvisions.Note(hub: name)
        if let registrationTimeToLive, registrationTimeToLive != stored.description.registrationTimeToLive {
            stored.description.registrationTimeToLive = registrationTimeToLive
            note.hasTimeToLive = true
        }
        for rule in rules where !stored.policy.rules.contains(rule) {
            note.rules.append(rule.name)
            let place = stored.description.rules.firstIndex { $0.rule.name == rule.name }
            let former = place.map { stored.description.rules.remove(at: $0) }
            let entry = AuthorizationRule(rule, createdAt: former?.createdAt ?? now, modifiedAt: now)
            stored.description.rules.insert(entry, at: place ?? stored.description.rules.endIndex)
        }
        let count = stored.description.rules.count
        guard note.rules.isEmpty || count <= AuthorizationRule.maximumCount else {
            throw HubProvisionError.tooManyRules(hub: name, count: count)
        }
        for credential in credentials where stored.description.set(credential) { note.hasCredentials = true }
        guard note.hasTimeToLive || note.hasCredentials || !note.rules.isEmpty else { return note }
        stored.updatedAt = now
        try transaction.update(stored)
        return note
    }
}
