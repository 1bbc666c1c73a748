package import FoundationEssentials

/// The operations of one hub, ours or any other that speaks the Notification Hubs protocol.
///
/// `HubClient` calls them over HTTP, and `LocalHub` in the process of the hub. A rule's rights limit them: operations that
/// need more than Listen name the right.
///
/// All throw ``HubError/refused(status:code:detail:retryAfter:)`` for a refusal. A hub that is not ours does not have the
/// operations from ``recipients(tags:format:)`` on, and ``streamInstallations(with:from:count:)``: they throw
/// ``HubError/unsupported(status:detail:)``, except for those that name a message, an alarm or a publisher to read.
package protocol NotificationHub: Sendable {

    // MARK: Installations

    /// Creates or overwrites an installation.
    ///
    /// `channel` is the secret of the existing `stream` installation, if there is one (protocol §11.1); without it and
    /// without Manage, an overwrite is refused with 409.
    func put(_ installation: Installation, channel: PushChannelSecret?) async throws(HubError)

    /// Deletes an installation.
    ///
    /// - Returns: `false` when the hub said that there was none; some hubs answer the same in both cases.
    @discardableResult
    func delete(_ id: InstallationID, channel: PushChannelSecret?) async throws(HubError) -> Bool

    /// Reads an installation.
    ///
    /// Needs Manage for one of platform `stream` with another push channel than `channel`.
    ///
    /// - Returns: `nil` when the hub has none of this id.
    func installation(
        _ id: InstallationID,
        comparing channel: PushChannel?
    ) async throws(HubError) -> FoundInstallation?

    /// Agents and readers' pages, with a tag if one is given; a page may be empty before the last one.
    ///
    /// `start` is the end of the previous page. Needs Manage.
    func streamInstallations(
        with tag: Tag?,
        from start: String?,
        count: Int
    ) async throws(HubError) -> InstallationList

    // MARK: Registrations

    /// Requests an unused registration id; nothing is stored under it yet.
    func newRegistrationID() async throws(HubError) -> RegistrationID

    /// Creates or overwrites a registration; 410 for an id that cannot be used again.
    func put(_ registration: Registration) async throws(HubError)

    /// Deletes a registration, whatever its ETag.
    ///
    /// - Returns: `false` when the hub has none of this id.
    @discardableResult
    func delete(_ id: RegistrationID) async throws(HubError) -> Bool

    /// Reads a registration; 404 when the hub has none of this id.
    func registration(_ id: RegistrationID) async throws(HubError) -> Registration

    /// Reads one page of registrations; an empty page is not always the last.
    ///
    /// Needs Manage for all choices but a push handle.
    ///
    /// - Parameters:
    ///   - choice: The registrations.
    ///   - start: The start of the page, from the previous page; it is sent unchanged.
    ///   - count: The largest number of registrations of the page, up to 100.
    /// - Returns: The page, and the beginning of the next one.
    /// - Throws: 400 for a start that no page has named.
    func page(
        of choice: RegistrationChoice,
        from start: String?,
        count: Int
    ) async throws(HubError) -> (answer: RegistrationAnswer, next: String?)

    // MARK: Messages; all need Send

    /// Sends one message; when this returns, the hub has accepted it for delivery.
    ///
    /// - Returns: The hub's id of the message, if it gave one.
    func send(_ message: OutgoingMessage) async throws(HubError) -> MessageID?

    /// Schedules one message for a time up to seven days from now.
    ///
    /// - Returns: The id to cancel it with, if the hub gave one.
    func schedule(_ message: OutgoingMessage, at date: Date) async throws(HubError) -> MessageID?

    /// Cancels a scheduled message.
    ///
    /// - Returns: `false` when the hub has none of this id.
    func cancel(_ id: MessageID) async throws(HubError) -> Bool

    /// Sends a message to at most ten of the devices that match, and waits for the outcomes.
    func test(_ message: OutgoingMessage) async throws(HubError) -> (id: MessageID?, outcome: NotificationOutcome)

    /// The protocol's telemetry of a message, which every hub has.
    ///
    /// - Returns: `nil` for a message that the hub does not know.
    func details(of id: MessageID) async throws(HubError) -> NotificationDetails?

    /// Counts the devices that match a tag expression, without sending.
    func recipients(tags: String, format: MessageFormat) async throws(HubError) -> RecipientCounts

    // MARK: Reports of messages; all need Manage

    /// Reports the outcome of a message; 404 when the hub does not keep the message, or is not ours.
    ///
    /// With `device`, an installation's id or a push handle, it also reports why that device got the message or not.
    func report(on id: MessageID, device: String?) async throws(HubError) -> MessageReport

    /// The targets of push services that did not get a message.
    ///
    /// `from` is the next page's start, from the previous page; `count` is `nil` for as many as the hub lists.
    func failures(of id: MessageID, from: String?, count: Int?) async throws(HubError) -> FailedTargets

    /// The newest messages, newest first.
    func newestMessages(_ count: Int) async throws(HubError) -> [MessageReport]

    /// The newest messages before a position in the log, newest first.
    func messages(before place: LogSequence, count: Int) async throws(HubError) -> [MessageReport]

    /// The scheduled messages, the next one first.
    func scheduledMessages(_ count: Int) async throws(HubError) -> [MessageReport]

    // MARK: The hub

    /// The hub at a glance; needs Manage.
    func overview() async throws(HubError) -> HubOverview

    /// The six standard categories and those that publishers have announced.
    func categories() async throws(HubError) -> [String]

    /// Replaces the set of categories that a publisher announces; needs Send.
    func setCategories(_ categories: [String], publisher: String) async throws(HubError)

    /// Reports the state of the hub's credentials for push services; with `asking`, each service is asked.
    ///
    /// Needs Manage.
    func credentials(asking: Bool) async throws(HubError) -> CredentialReport

    /// The key that browsers subscribe with.
    ///
    /// - Returns: `nil` where the hub has none.
    func browserKey() async throws(HubError) -> BrowserKeyReport?

    // MARK: Publishers

    /// Replaces the hub's report of a publisher; needs Send.
    ///
    /// - Parameters:
    ///   - report: At most ``PublisherReport/maximumBytes`` as JSON.
    ///   - publisher: The name under which it announces its categories.
    ///   - timeout: For the whole call.
    /// - Throws: 400 for a name or a report that is not valid.
    func report(_ report: PublisherReport, publisher: String, timeout: Duration) async throws(HubError)

    /// The publishers that have reported in the last 7 days; needs Manage.
    func publishers() async throws(HubError) -> [PublisherSummary]

    /// The last report of a publisher; needs Manage.
    func publisher(_ name: String) async throws(HubError) -> PublisherStatus

    /// The requests of operators to a publisher in the last 7 days, oldest first; needs Send.
    func requests(to publisher: String, timeout: Duration) async throws(HubError) -> [PublisherRequest]

    /// Asks something of a publisher; needs Manage.
    ///
    /// - Returns: The request with its number.
    func ask(_ publisher: String, _ request: PublisherRequest) async throws(HubError) -> PublisherRequest

    // MARK: Alarms; all need Manage

    /// The active and the silenced alarms.
    func alarms() async throws(HubError) -> AlarmList

    /// Stops reports of an alarm until a time, or until it has ended.
    func silence(alarm id: String, until end: Date?) async throws(HubError)

    func endSilence(alarm id: String) async throws(HubError)
}

extension NotificationHub {
    /// Creates an installation, or overwrites one with Manage or of another platform than `stream`.
    package func put(_ installation: Installation) async throws(HubError) {
        try await put(installation, channel: nil)
    }

    @discardableResult
    package func delete(_ id: InstallationID) async throws(HubError) -> Bool {
        try await delete(id, channel: nil)
    }

    package func installation(_ id: InstallationID) async throws(HubError) -> Installation? {
        try await installation(id, comparing: nil)?.installation
    }

    /// Sends one template message, as a publisher does.
    package func send(
        _ body: [UInt8],
        tags: String?,
        idempotencyKey: String?
    ) async throws(HubError) -> MessageID? {
        try await send(OutgoingMessage(body, tags: tags, idempotencyKey: idempotencyKey))
    }

    /// The categories; `nil` from a hub that keeps no list of them.
    package func listedCategories() async throws(HubError) -> [String]? {
        try await HubError.ifSupported { () throws(HubError) in try await categories() }
    }

    package func recipients(tags: String) async throws(HubError) -> RecipientCounts {
        try await recipients(tags: tags, format: .template)
    }

    /// The requests of operators to a publisher; waits at most 30 seconds.
    package func requests(to publisher: String) async throws(HubError) -> [PublisherRequest] {
        try await requests(to: publisher, timeout: .seconds(30))
    }

    package func report(on id: MessageID) async throws(HubError) -> MessageReport {
        try await report(on: id, device: nil)
    }

    package func failures(of id: MessageID) async throws(HubError) -> FailedTargets {
        try await failures(of: id, from: nil, count: nil)
    }
}
