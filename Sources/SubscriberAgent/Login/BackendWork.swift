import HubClient
import HubProtocol
import Signals
import SQLiteFiles

/// The work of a listening agent at the app backend, concurrent with its stream: it registers as its user, and fetches
/// the texts of secure notifications.
struct BackendWork: Sendable {
    /// Time for which an app backend keeps the text of a secure notification.
    static let lifetime = Duration.seconds(72 * 3_600)
    /// Time between two checks of the login while a text waits for one.
    static let glance = Duration.seconds(2)

    let patience: PatientRetry<DatabaseFileError>
    let flow: InboxFlow
    let registrar: Registrar
    let subscription: SubscriptionReport
    let wakeUp = AsyncSignal()

    var store: AgentStore { registrar.store }
    var environment: AgentEnvironment { registrar.environment }
    private var logins: LoginSource { registrar.logins }

    /// Runs until the task is cancelled.
    func run() async {
        var hasAsked = false
        while !Task.isCancelled {
            await registerIfDue()
            switch await fetchNext() {
            case .nothing:
                hasAsked = false
                await wakeUp.wait()
            case .again: hasAsked = false
            case .needsLogin:
                if !hasAsked { askForLogin() }
                hasAsked = true
                await pause(Self.glance)
            case .wait(let time): await pause(time)
            }
        }
    }

    private func pause(_ time: Duration) async {
        // Only cancellation shortens the pause.
        try? await environment.sleep(time)
    }

    private func askForLogin() {
        environment.reporter.warning("a secure notification has arrived; log in to read it")
        environment.reporter.hint(.logIn)
    }

    // MARK: - Registering

    private func registerIfDue() async {
        // The first registration is made by the stream, before it opens.
        guard let record = try? await store.record(), record.registered != nil, registrar.isUserDue(record) else {
            return
        }
        do {
            try await registrar.registerUser()
        } catch {
            // The stream reports failures of the hub.
            logins.postpone()
        }
        if let record = try? await store.record() { subscription.note(record) }
    }

    // MARK: - Fetching

    private enum Step {
        case nothing
        case again
        case needsLogin
        case wait(Duration)
    }

    private func fetchNext() async -> Step {
        guard let count = try? await store.secureCount(), count > 0 else { return .nothing }
        await dropOld(count)
        guard let login = logins.accepted() else { return .needsLogin }
        guard let record = try? await store.nextSecure(for: login.key) else {
            // The texts are for a former user, who may log in again.
            return .wait(Self.glance)
        }
        if let pause = logins.pause { return .wait(pause) }
        return await fetch(record, login)
    }

    private func dropOld(_ count: Int) async {
        let limit = Timestamp(environment.now()) - Self.lifetime
        guard let oldest = try? await store.oldestSecure(), oldest < limit || count > store.bounds.secure,
            let dropped = try? await store.dropSecure(before: limit), dropped > 0
        else { return }
        let hours = Self.lifetime.components.seconds / 3_600
        environment.reporter.warning(
            "\(Counted.text(dropped, "secure notification was", "secure notifications were")) deleted: older than "
                + "\(hours) hours, or above \(store.bounds.secure)"
        )
    }

    private func fetch(_ record: SecureRecord, _ login: Login) async -> Step {
        let text: String?
        do {
            text = try await logins.client(login).payload(of: record.secureID)
        } catch let error as BackendClientError {
            logins.failed(error, login)
            return logins.isRefused(login) ? .needsLogin : .wait(logins.pause ?? .zero)
        } catch {
            logins.failed(.refused(status: 400, reason: "\(error)", retryAfter: nil), login)
            return .wait(logins.pause ?? .zero)
        }
        logins.succeeded()
        let isResolved: Bool
        do {
            isResolved = try await patience.perform { () async throws(DatabaseFileError) in
                if let text { return try await store.resolve(record, text: text) }
                try await store.dropSecure(record)
                return false
            }
        } catch {
            // The worker uses the same database, and reports the failure.
            return .wait(Self.glance)
        }
        if isResolved {
            flow.arrived(1)
        } else if text == nil {
            environment.reporter.warning("a secure notification has expired, or is not for '\(login.user)'")
        }
        return .again
    }
}
