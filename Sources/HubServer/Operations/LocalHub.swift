import Formats
package import Foundation
package import HubProtocol
import HubRouting
import HubStore
import Logging
import SQLiteFiles

/// A hub of this process, with Manage: no connection, no token and no router between caller and hub.
///
/// It stores the hub's name and looks the hub up for each call, since it may be deleted and created again. Values pass
/// through the readers of requests, or are checked by the same rules.
///
/// A change at a node that does not write is made through the log, as a request is that cannot be passed on.
package struct LocalHub: Sendable {
    /// Seconds after which a stream ends, as one that was opened with a token does; random, so that streams that were
    /// opened together do not end in the same second.
    private static let streamLifetimes: ClosedRange<Int64> = 3_600...5_400

    /// The hub's name, in its original spelling.
    package let name: HubName
    let management: HubManagement

    var directory: HubDirectory { management.directory }

    /// The hub, disabled or not.
    ///
    /// - Throws: 404 if it is gone.
    var hub: Hub { get throws(ProtocolError) { try directory.hub(named: name.text) } }

    /// The rule with which the hub can be managed now: a rule of the hub or else of the namespace.
    ///
    /// Keys change while the server runs, so that it is looked up for each call.
    var managingRule: (rule: AccessRule, isOfNamespace: Bool)? {
        let own = ((try? hub)?.status.rules.hub ?? []).map { (rule: $0, isOfNamespace: false) }
        let all = own + directory.namespaceRules.map { (rule: $0, isOfNamespace: true) }
        let managing = all.filter { $0.rule.rights.grants(.manage) }
        return managing.first { $0.rule.name == AccessRule.defaultFullName } ?? managing.first
    }

    /// - Throws: 404 for a hub that is gone, 401 for one that no rule can manage, 403 for a disabled one.
    private func operations() throws(ProtocolError) -> HubOperations {
        let hub = try hub
        guard let (rule, isOfNamespace) = managingRule else { throw .unauthorized(.claimRequired(.manage)) }
        guard !hub.status.isDisabled else { throw .disabled(hub.record.name) }
        let credential = Credential(rule: rule.name, key: rule.primaryKey, isOfNamespace: isOfNamespace)
        let grant = Grant(rights: rule.rights, credential: credential)
        return HubOperations(hub: hub, directory: directory, grant: grant, source: nil)
    }

    /// Calls an operation; `isRead` is true if the answer must contain what other nodes have written until now.
    private func call<Answer>(
        isRead: Bool,
        _ operation: (HubOperations) async throws -> Answer
    ) async throws(HubError) -> Answer {
        do {
            try Task.checkCancellation()
            return try await operation(try await management.upToDate(isRead: isRead, operations))
        } catch let refusal as ProtocolError {
            throw HubError(refusal)
        } catch is CancellationError {
            // Only a stop cancels requests.
            throw HubError(.stopping)
        } catch {
            management.served.logger.error(
                "an operation failed",
                metadata: ["hub.name": "\(name)", "error.reason": "\(DatabaseFileError.reason(error))"]
            )
            throw HubError(.internalError("The hub failed; its log has the details."))
        }
    }

    private func upToDate<Answer>(
        _ operation: (HubOperations) async throws -> Answer
    ) async throws(HubError) -> Answer { try await call(isRead: true, operation) }

    private func asIs<Answer>(
        _ operation: (HubOperations) async throws -> Answer
    ) async throws(HubError) -> Answer { try await call(isRead: false, operation) }

    /// An operation's answer; `nil` for a 404.
    private func unlessAbsent<Answer>(
        isRead: Bool,
        _ operation: (HubOperations) async throws -> Answer
    ) async throws(HubError) -> Answer? {
        do throws(HubError) {
            return try await call(isRead: isRead, operation)
        } catch .refused(404, _, _, _) {
            return nil
        }
    }
}

// MARK: - Devices

extension LocalHub: NotificationHub {
    package func put(_ installation: Installation, channel: PushChannelSecret?) async throws(HubError) {
        try await asIs { operations in
            try await operations.putInstallation(channel: channel) {
                let body = Array(installation.encodedJSON(as: .request).utf8)
                let maximumTags = operations.configuration.maximumTags
                return (try Installation(json: body, maximumTags: maximumTags), body.count)
            }
        }
    }

    @discardableResult
    package func delete(_ id: InstallationID, channel: PushChannelSecret?) async throws(HubError) -> Bool {
        try await unlessAbsent(isRead: false) { try await $0.deleteInstallation(id, channel: channel) } != nil
    }

    package func installation(
        _ id: InstallationID,
        comparing channel: PushChannel?
    ) async throws(HubError) -> FoundInstallation? {
        let stored = try await unlessAbsent(isRead: true) { try await $0.installation(id, channel: nil) }
        guard let stored else { return nil }
        var installation = stored.installation
        guard installation.platform == .stream else {
            let isSame = channel.flatMap { installation.pushChannel?.isSameAddress(as: $0) }
            return FoundInstallation(installation: installation, hasSameChannel: isSame ?? false)
        }
        installation.pushChannel = nil
        var secret: PushChannelSecret?
        if case .handle(let text) = channel { secret = try? PushChannelSecret(text) }
        let isSame = secret.flatMap { secret in stored.channelDigest.map { secret.matches(digest: $0) } }
        return FoundInstallation(installation: installation, hasSameChannel: isSame ?? false)
    }

    package func streamInstallations(
        with tag: Tag?,
        from start: String?,
        count: Int
    ) async throws(HubError) -> InstallationList {
        try await upToDate { try await $0.streamInstallations(with: tag, from: start, count: count) }
    }

    package func newRegistrationID() async throws(HubError) -> RegistrationID { .random() }

    package func put(_ registration: Registration) async throws(HubError) {
        try await asIs { operations in
            _ = try await operations.putRegistration(if: .none) {
                var checked = registration
                checked.tags = checked.tags.distinct()
                try checked.validate(maximumTags: operations.configuration.maximumTags)
                return (checked, checked.textBytes)
            }
        }
    }

    @discardableResult
    package func delete(_ id: RegistrationID) async throws(HubError) -> Bool {
        try await unlessAbsent(isRead: false) { try await $0.deleteRegistration(id, if: .exists) } != nil
    }

    package func registration(_ id: RegistrationID) async throws(HubError) -> Registration {
        try await upToDate { try await $0.registration(id) }.listed.answered
    }

    package func page(
        of choice: RegistrationChoice,
        from start: String?,
        count: Int
    ) async throws(HubError) -> (answer: RegistrationAnswer, next: String?) {
        try await upToDate { operations in
            let selection: RegistrationSelection =
                switch choice {
                case .all: .all
                case .tag(let tag): .tag(tag)
                case .handle(let handle):
                    .handle(try HandleFilter(parsing: RegistrationChoice.filter(handle)), operations.grant)
                }
            let page = try await operations.registrations(
                selection,
                from: try start.map { try ContinuationToken(parsing: $0) },
                limit: min(max(1, count), PageSize.maximum)
            )
            let next = page.next.map { ContinuationToken(position: $0).text }
            return (RegistrationAnswer(page.registrations.map(\.listed.answered)), next)
        }
    }
}

// MARK: - Messages

extension LocalHub {
    package func send(_ message: OutgoingMessage) async throws(HubError) -> MessageID? {
        try await asIs { try await $0.accept(try $0.message(message, .messages)) }
    }

    package func schedule(_ message: OutgoingMessage, at date: Date) async throws(HubError) -> MessageID? {
        try await asIs { try await $0.accept(try $0.message(message, .scheduledNotifications, at: date)) }
    }

    package func cancel(_ id: MessageID) async throws(HubError) -> Bool {
        try await unlessAbsent(isRead: false) { try await $0.cancel(id) } != nil
    }

    package func test(
        _ message: OutgoingMessage
    ) async throws(HubError) -> (id: MessageID?, outcome: NotificationOutcome) {
        let answer = try await asIs { try await $0.test(try $0.message(message, .messages, isTest: true)) }
        guard let outcome = NotificationOutcome(xml: answer.xml) else {
            throw .malformedReply("the outcome of the test send cannot be read")
        }
        return (answer.id, outcome)
    }

    package func details(of id: MessageID) async throws(HubError) -> NotificationDetails? {
        try await unlessAbsent(isRead: true) { try await $0.details(of: id).details }
    }

    package func recipients(tags: String, format: MessageFormat) async throws(HubError) -> RecipientCounts {
        try await asIs { try await $0.recipients(of: RecipientQuery(tags: tags, format: format)) }
    }

    package func report(on id: MessageID, device: String?) async throws(HubError) -> MessageReport {
        try await upToDate { try await $0.report(on: id, device: device) }
    }

    package func failures(of id: MessageID, from: String?, count: Int?) async throws(HubError) -> FailedTargets {
        try await upToDate { try await $0.failures(of: id, from: from, count: count) }
    }

    package func newestMessages(_ count: Int) async throws(HubError) -> [MessageReport] {
        try await upToDate { try await $0.messages(.newest, count: count) }
    }

    package func messages(before place: LogSequence, count: Int) async throws(HubError) -> [MessageReport] {
        try await upToDate { try await $0.messages(.before(place), count: count) }
    }

    /// The figures of the hub since a time, of this node and then of the others.
    package func figures(_ span: HubFigures.Span, since: Timestamp) async throws(HubError) -> [NodeFigures] {
        try await asIs { try await $0.figures(span, since: since) }
    }

    /// The messages that say the same as a sent one, such as those to its other categories, and itself.
    ///
    /// Messages of one version are sent one after the other, so only those around its `place` in the log are searched.
    package func sameVersion(as story: SentStory, near place: LogSequence) async throws(HubError) -> [SentStory] {
        try await upToDate { try await $0.sameVersion(as: story, near: place) }
    }

    /// The newest messages, each with the reason why a device got it or did not.
    package func messages(explainedTo device: String, count: Int) async throws(HubError) -> [MessageReport] {
        try await upToDate { try await $0.messages(explainedTo: device, count: count) }
    }

    /// The messages of the story of a sent one, with the times of their acceptance, among those around its `place`.
    package func sameStory(
        as story: SentStory,
        near place: LogSequence
    ) async throws(HubError) -> [(story: SentStory, at: Timestamp)] {
        try await upToDate { try await $0.sameStory(as: story, near: place) }
    }

    package func scheduledMessages(_ count: Int) async throws(HubError) -> [MessageReport] {
        try await upToDate { try await $0.messages(.scheduled, count: count) }
    }
}

extension HubOperations {
    fileprivate func message(
        _ message: OutgoingMessage,
        _ kind: SendRequest.Kind,
        at date: Date? = nil,
        isTest: Bool = false
    ) throws(ProtocolError) -> IncomingMessage {
        var headers = message.requestHeaders
        if let date { headers.append((HeaderName.scheduleTime, ISODateTime.format(date))) }
        let query = [message.device == nil ? nil : "direct", isTest ? "test" : nil].compactMap { $0 }
        return try self.message(kind, headers: headers, query: query.joined(separator: "&"), body: message.body)
    }
}

// MARK: - The hub, publishers and alarms

extension LocalHub {
    package func overview() async throws(HubError) -> HubOverview { try await asIs { try await $0.overview() } }

    package func categories() async throws(HubError) -> [String] { try await upToDate { try await $0.categories() } }

    package func setCategories(_ categories: [String], publisher: String) async throws(HubError) {
        let bytes = categories.reduce(0) { $0 + $1.utf8.count }
        try await asIs { try await $0.setCategories(publisher: publisher) { (categories, bytes) } }
    }

    package func credentials(asking: Bool) async throws(HubError) -> CredentialReport {
        try await call(isRead: !asking) { try await $0.credentials(asking: asking) }
    }

    package func browserKey() async throws(HubError) -> BrowserKeyReport? {
        try await unlessAbsent(isRead: true) { try $0.browserKey() }
    }

    package func report(
        _ report: PublisherReport,
        publisher: String,
        timeout: Duration
    ) async throws(HubError) {
        try await asIs { operations in
            try await operations.setReport(publisher: publisher) {
                let body = [UInt8](try JSONEncoder.sorted.encode(report))
                return (try PublisherReport(json: body), body.count)
            }
        }
    }

    package func publishers() async throws(HubError) -> [PublisherSummary] {
        try await upToDate { try await $0.publishers() }
    }

    package func publisher(_ name: String) async throws(HubError) -> PublisherStatus {
        try await upToDate { try await $0.publisher(name) }
    }

    package func requests(
        to publisher: String,
        timeout: Duration
    ) async throws(HubError) -> [PublisherRequest] {
        try await upToDate { try await $0.requests(to: publisher) }.requests
    }

    package func ask(_ publisher: String, _ request: PublisherRequest) async throws(HubError) -> PublisherRequest {
        try await asIs { operations in
            try await operations.ask(publisher) {
                let body = [UInt8](try JSONEncoder.sorted.encode(request))
                return (try PublisherRequest(json: body), body.count)
            }
        }
    }

    package func alarms() async throws(HubError) -> AlarmList { try await upToDate { try await $0.alarms() } }

    package func silence(alarm id: String, until end: Date?) async throws(HubError) {
        try await asIs { operations in
            let silence = AlarmSilence(until: end.map { ISODateTime.formatSeconds($0) })
            let body = [UInt8](try JSONEncoder.sorted.encode(silence))
            let checked = try AlarmSilence.end(json: body, now: operations.configuration.timestamp)
            try await operations.silence(alarm: id, until: checked)
        }
    }

    package func endSilence(alarm id: String) async throws(HubError) {
        try await asIs { try await $0.endSilence(alarm: id) }
    }
}

// MARK: - Streams

extension LocalHub {
    /// Admits a stream of an installation.
    ///
    /// - Parameters:
    ///   - id: The installation.
    ///   - channel: Its secret.
    ///   - position: The position after which it continues; `nil` to begin at the installation's creation.
    /// - Returns: The stream, which is not open yet.
    /// - Throws: The refusal of a hub that is gone, disabled or cannot be managed.
    package func stream(
        of id: InstallationID,
        channel: PushChannelSecret,
        after position: String?
    ) async throws(HubError) -> StreamOpening {
        try await asIs { operations in
            var grant = operations.grant
            grant.validUntil = operations.configuration.timestamp.seconds + .random(in: Self.streamLifetimes)
            return StreamOpening(
                operations: HubOperations(hub: operations.hub, directory: directory, grant: grant, source: nil),
                installation: id,
                channel: channel,
                lastEventID: position,
                hasHeartbeatEvents: true
            )
        }
    }
}
