import HostSystem
import HubClient
import HubProtocol
import SQLiteFiles

extension SubscriberAgent {
    /// Stores a choice and registers it at the hub, without listening.
    ///
    /// `nil` leaves a stored value unchanged. While the hub is not available, a choice is stored unchecked, with a
    /// warning. If the hub refuses it, the former choice is kept.
    ///
    /// - Throws: ``AgentError``; with exit 64 for a category that the hub does not have.
    func choose(
        _ choice: CategoryChoice?,
        _ template: TemplateChoice?,
        isListening: Bool
    ) async throws(AgentError) -> ChoiceOutcome {
        let connected = try await connect()
        var checked: CategoryChoice?
        var failure: HubFailure?
        if let choice { (checked, failure) = try await check(choice, with: connected.client) }
        let lock = try await ChangeLock.acquire(in: configuration.directory, environment)
        defer { lock.close() }
        let former = try await storing(store.record)
        guard let categories = checked?.categories ?? former.categories else { throw nothingChosen }
        try await storing { () async throws(DatabaseFileError) in
            try await self.store.choose(categories, template: template)
        }
        var isRegistered = false
        if failure == nil {
            let registrar = registrar(connected.client)
            do {
                isRegistered = try await registrar.registerLocked()
            } catch {
                switch error {
                case .away, .clockDiffers:
                    warnStored(error)
                    failure = error
                case .cancelled:
                    // The hub may have accepted the choice: the next process that listens registers the stored one.
                    try? await store.choose(former.categories, template: former.template)
                    try? await store.setRegistered(nil)
                    throw error.asAgentError
                case .notFound, .foreign, .badCursor, .refused:
                    try? await store.choose(former.categories, template: former.template)
                    throw error.asAgentError
                }
            }
        }
        // Only now: a key that the hub refuses must not replace a key that works.
        try await remember(connected)
        return ChoiceOutcome(
            categories: categories,
            template: template ?? former.template,
            isRegistered: isRegistered,
            isListening: isListening,
            retryAfter: failure?.retryAfter
        )
    }

    var nothingChosen: AgentError {
        AgentError(
            .badConfiguration,
            "profile '\(configuration.profile)' has chosen no categories yet",
            hint: .noCategories
        )
    }

    /// - Returns: The choice in the hub's spelling, and the failure if the hub could not be asked.
    private func check(
        _ choice: CategoryChoice,
        with client: HubClient
    ) async throws(AgentError) -> (CategoryChoice, HubFailure?) {
        guard !choice.categories.isEmpty else { return (choice, nil) }
        let known: [String]?
        do {
            known = try await client.listedCategories()
        } catch {
            let failure = HubFailure(error)
            switch failure {
            case .away, .clockDiffers:
                warnStored(failure)
                return (choice, failure)
            case .notFound, .foreign, .badCursor, .refused, .cancelled:
                throw failure.asAgentError
            }
        }
        guard let known else {
            environment.reporter.notice("this hub keeps no list of categories, so the names were not checked")
            return (choice, nil)
        }
        return (try choice.checked(against: known), nil)
    }

    private func warnStored(_ failure: HubFailure) {
        environment.reporter.warning(
            "\(failure.asAgentError); the choice is stored, and sent to the hub once it can be reached"
        )
    }
}
