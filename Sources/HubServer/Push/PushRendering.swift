import Crypto
import Foundation
import HubProtocol
import HubRouting
import HubStore
import PushServices

/// Outcome of a target to which nothing was sent.
struct PushRefusal: Error, Sendable, Equatable {
    let outcome: OutcomeName
    /// One line, for people.
    let reason: String
}

/// A message as rendered for some targets.
struct RenderedPush: Sendable {
    let body: [UInt8]
    let headers: ForwardedHeaders
    let push: ReadyPush

    func isSame(as other: RenderedPush) -> Bool { body == other.body && headers == other.headers }
}

/// Renders one message for its targets, each different text once.
struct PushRendering {
    /// Bytes of texts and templates to keep; beyond that all are made again.
    private static let maximumKept = 4 << 20
    /// Contents of registrations that are compared before they are hashed.
    private static let maximumRecent = 8
    /// Bytes of a rendered text; no push service accepts half as much.
    private static let maximumRendered = 16 << 10

    /// The properties that a registration's text depends on.
    private struct Text: Hashable {
        let platform: Platform
        let template: TemplateSource?
        let variables: PushVariables
    }

    /// The properties of a registration without push variables that its text depends on.
    private struct Content: Equatable {
        let platform: Platform
        let template: RegistrationTemplate?
    }

    private struct TemplateSource: Hashable {
        let body: String
        let headers: [String: String]
    }

    private struct CompiledTemplate {
        let body: Template
        let headers: [(name: String, value: TemplateExpression)]
        let names: Set<String>
    }

    private let sequence: LogSequence
    let messageID: MessageID
    /// The time at which the hub accepted the message.
    let acceptedAt: Timestamp
    private let message: Message
    private var templates: [TemplateSource: Result<CompiledTemplate, PushRefusal>] = [:]
    private var texts: [Text: Result<RenderedPush, PushRefusal>] = [:]
    /// Rendered last: most registrations have the same few contents, in the same memory, so that comparing is fast.
    private var recent: [(content: Content, push: Result<RenderedPush, PushRefusal>)] = []
    /// Bytes in ``templates`` and ``texts``.
    private var kept = 0

    init(_ accepted: AcceptedMessage) throws {
        sequence = accepted.logged.sequence
        messageID = try accepted.logged.id
        acceptedAt = accepted.at
        message = try accepted.logged.record.message
    }

    /// The handles of a direct send.
    var handles: [PushChannel] { message.audience.handles ?? [] }

    /// Checks that the message is still for a registration.
    ///
    /// A registration is matched again: a device that changed hands does not get its former user's messages. It may
    /// have changed in the very commit that accepted the message, which chose its targets from the state before that
    /// commit.
    func check(_ stored: StoredRegistration, platform: Platform, at now: Timestamp) throws(PushRefusal) {
        let registration = stored.registration
        if let end = registration.expirationTime, Timestamp(end) <= now {
            throw PushRefusal(outcome: .skipped, reason: "the registration has expired")
        }
        if stored.isChannelExpired {
            throw PushRefusal(outcome: .expiredChannel, reason: "its push service has reported the handle as dead")
        }
        guard !matches(registration, platform: platform) else { return }
        throw PushRefusal(
            outcome: .skipped,
            reason: "the registration has changed since the message came and no longer matches"
        )
    }

    /// True if the message is for a registration in its present form.
    func matches(_ registration: Registration, platform: Platform) -> Bool {
        registration.platform == platform
            && (registration.template != nil) == (message.format == .template)
            && message.audience.expression?.matches(registration.tags.contains) ?? true
    }

    /// True if a registration was among the message's targets and still is.
    func isTarget(_ stored: StoredRegistration, platform: Platform, at now: Timestamp) -> Bool {
        stored.changedAfter < sequence && matches(stored.registration, platform: platform)
            && (try? check(stored, platform: platform, at: now)) != nil
    }

    /// Renders the message for a registration.
    mutating func push(
        for registration: Registration,
        by service: any PushService
    ) throws(PushRefusal) -> RenderedPush {
        guard registration.pushVariables.isEmpty else { return try rendered(for: registration, by: service) }
        let content = Content(platform: registration.platform, template: registration.template)
        if let known = recent.first(where: { $0.content == content }) { return try known.push.get() }
        let push = Result { () throws(PushRefusal) in try rendered(for: registration, by: service) }
        if recent.count >= Self.maximumRecent { recent.removeFirst() }
        recent.append((content, push))
        return try push.get()
    }

    private mutating func rendered(
        for registration: Registration,
        by service: any PushService
    ) throws(PushRefusal) -> RenderedPush {
        let source = registration.template.map { template in
            TemplateSource(body: template.body, headers: Self.headers(of: template))
        }
        var variables = PushVariables.none
        if let source, !registration.pushVariables.isEmpty {
            let named = try compiled(source).names
            variables = PushVariables(registration.pushVariables).named(named)
        }
        return try push(Text(platform: registration.platform, template: source, variables: variables), by: service)
    }

    /// Renders the message for a handle of a direct send.
    mutating func push(on platform: Platform, by service: any PushService) throws(PushRefusal) -> RenderedPush {
        try push(Text(platform: platform, template: nil, variables: .none), by: service)
    }

    /// Returns the expiry of the message if it is the same for all targets; `nil` if the message does not set one.
    mutating func commonExpiry(on platform: Platform, by service: any PushService) -> Timestamp? {
        guard message.format != .template, let push = try? push(on: platform, by: service).push else { return nil }
        return switch push.lifetime {
        case .unspecified: nil
        case .once: acceptedAt + DeliveryLane.latestOnce
        case .until(let time): time
        }
    }

    private mutating func push(_ text: Text, by service: any PushService) throws(PushRefusal) -> RenderedPush {
        if let known = texts[text] { return try known.get() }
        let made = Result { () throws(PushRefusal) in try make(text, by: service) }
        makeRoom(for: ((try? made.get())?.body.count ?? 0) + 1_024)
        texts[text] = made
        return try made.get()
    }

    private mutating func make(_ text: Text, by service: any PushService) throws(PushRefusal) -> RenderedPush {
        var headers = message.headers
        let body: [UInt8]
        if let source = text.template, let properties = message.properties {
            let template = try compiled(source)
            var budget = RenderingBudget(bytes: Self.maximumRendered)
            guard let rendered = template.body.render(properties, variables: text.variables, within: &budget) else {
                throw PushRefusal(outcome: .invalidNotificationSize, reason: "the rendered template is too long")
            }
            body = Array(rendered.utf8)
            if text.platform == .browser, BrowserTemplate.isBlank(body) {
                throw PushRefusal(outcome: .skipped, reason: "the message has no text for the browser's template")
            }
            for (name, expression) in template.headers {
                guard let value = expression.render(properties, variables: text.variables, within: &budget) else {
                    throw PushRefusal(outcome: .invalidNotificationSize, reason: "the header '\(name)' is too long")
                }
                if !value.isEmpty { headers.set(name, to: value) }
            }
        } else {
            body = message.body
        }
        let format = MessageFormat(of: text.platform)
        do {
            let message = PushMessage(format: format, body: body, headers: headers, acceptedAt: acceptedAt)
            return RenderedPush(body: body, headers: headers, push: try ReadyPush(message, by: service))
        } catch {
            throw PushRefusal(
                outcome: error.isTooLarge ? .invalidNotificationSize : .invalidNotificationFormat,
                reason: error.description
            )
        }
    }

    private mutating func compiled(_ source: TemplateSource) throws(PushRefusal) -> CompiledTemplate {
        if let known = templates[source] { return try known.get() }
        let result: Result<CompiledTemplate, PushRefusal>
        do throws(TemplateError) {
            let body = try Template(parsing: source.body)
            var headers: [(name: String, value: TemplateExpression)] = []
            for (name, value) in source.headers.sorted(by: { $0.key < $1.key }) {
                headers.append((name, try TemplateExpression(parsing: value)))
            }
            let names = headers.reduce(into: body.propertyNames) { $0.formUnion($1.value.propertyNames) }
            result = .success(CompiledTemplate(body: body, headers: headers, names: names))
        } catch {
            result = .failure(PushRefusal(outcome: .invalidNotificationFormat, reason: "its template: \(error)"))
        }
        makeRoom(for: source.body.utf8.count * 4 + 1_024)
        templates[source] = result
        return try result.get()
    }

    private mutating func makeRoom(for bytes: Int) {
        if kept + bytes > Self.maximumKept { forget() }
        kept += bytes
    }

    /// Forgets everything that can be made again.
    mutating func forget() {
        texts = [:]
        templates = [:]
        recent = []
        kept = 0
    }

    /// Headers of a template, names in lower case; its own members for APNs count as headers.
    private static func headers(of template: RegistrationTemplate) -> [String: String] {
        var headers = template.headers.reduce(into: [String: String]()) { $0[$1.key.lowercased()] = $1.value }
        if let expiry = template.expiry, headers["apns-expiration"] == nil { headers["apns-expiration"] = expiry }
        if let priority = template.priority, headers["apns-priority"] == nil { headers["apns-priority"] = priority }
        return headers
    }
}

extension UUID {
    /// Makes an id that is the same for each attempt to send a message to a target (RFC 9562 §5.5, in a private
    /// namespace).
    init(of message: MessageID, to target: String) {
        let digest = Insecure.SHA1.hash(data: Array("newswire/\(message)/\(target)".utf8))
        var uuid = digest.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
        uuid.6 = uuid.6 & 0x0F | 0x50
        uuid.8 = uuid.8 & 0x3F | 0x80
        self.init(uuid: uuid)
    }
}
