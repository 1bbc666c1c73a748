import Formats
import HubProtocol
import OutboundHTTP

/// FCM's reply to a message.
///
/// Source: Google, "ErrorCode"; "Scale and error handling"; `google.rpc.Status`.
struct FcmReply {
    /// Default waits: for a quota, for a service that is unavailable, and for a project whose owner has to act.
    static let quotaWait = Duration.seconds(60)
    static let unavailableWait = Duration.seconds(10)
    static let ownerWait = Duration.seconds(900)

    private let status: Int
    private let retryAfter: Duration?
    /// FCM's name of the accepted message.
    private let name: String?
    /// FCM's own error code.
    private let code: String?
    /// The error code that all of Google's interfaces have.
    private let rpcStatus: String?
    private let message: String
    private let fields: [String]
    private let quotaSubjects: [String]
    private let isOfIntermediary: Bool

    /// Reads a reply; `retryAfter` is the wait that it asks for.
    init(_ response: OutboundResponse, retryAfter: Duration?) {
        status = response.status
        isOfIntermediary = response.isOfIntermediary
        self.retryAfter = retryAfter
        let document = try? JSONReader.read(response.body, allowsRepeats: true)
        name = document?["name"]?.string
        let error = document?["error"]
        rpcStatus = error?["status"]?.string
        message = error?["message"]?.string ?? ""
        let details = error?["details"]?.elements ?? []
        code = details.first { Self.isOf("FcmError", $0) }?["errorCode"]?.string
        fields = details.filter { Self.isOf("BadRequest", $0) }
            .flatMap { $0["fieldViolations"]?.elements ?? [] }.compactMap { $0["field"]?.string }
        quotaSubjects = details.filter { Self.isOf("QuotaFailure", $0) }
            .flatMap { $0["violations"]?.elements ?? [] }.compactMap { $0["subject"]?.string }
    }

    private static func isOf(_ type: String, _ detail: JSONNode) -> Bool {
        detail["@type"]?.string?.hasSuffix(".\(type)") == true
    }

    /// Decides by FCM's own code, then Google's, then the status: a 404 can be a dead token or a wrong project.
    var verdict: AccessTokens.Verdict {
        if 200...299 ~= status { return .outcome(.accepted(id: name)) }
        if isOfIntermediary { return .outcome(.retry(after: retryAfter, reason)) }
        if let code, let outcome = outcome(ofCode: code) { return .outcome(outcome) }
        switch rpcStatus {
        case "UNAUTHENTICATED": return .staleToken(reason)
        case "PERMISSION_DENIED", "NOT_FOUND": return .outcome(.refusedCredential(reason))
        case "INVALID_ARGUMENT": return .outcome(invalid)
        case "RESOURCE_EXHAUSTED": return .outcome(quota)
        case "UNAVAILABLE": return .outcome(unavailable)
        case "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED": return .outcome(.retry(after: retryAfter, reason))
        default: return verdictOfStatus
        }
    }

    private func outcome(ofCode code: String) -> PushOutcome? {
        switch code {
        case "UNREGISTERED": .deadHandle(DeadHandle(reason: reason))
        case "INVALID_ARGUMENT": invalid
        case "SENDER_ID_MISMATCH": .badRoute(reason)
        case "QUOTA_EXCEEDED": quota
        case "UNAVAILABLE": unavailable
        case "INTERNAL": .retry(after: retryAfter, reason)
        // The project's own credential for Apple or browsers. Messages to Android still work, so the hub's credential
        // is valid.
        case "THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR":
            .retry(
                after: max(retryAfter ?? .zero, Self.ownerWait),
                "\(reason); the Firebase project's own key for APNs or web push is refused"
            )
        default: nil
        }
    }

    private var verdictOfStatus: AccessTokens.Verdict {
        switch status {
        case 401: .staleToken(reason)
        case 403, 404: .outcome(.refusedCredential(reason))
        case 429: .outcome(quota)
        case 503: .outcome(unavailable)
        case 408, 500...599: .outcome(.retry(after: retryAfter, reason))
        case 400: .outcome(invalid)
        case 413: .outcome(.tooLarge(reason))
        case 402..<500: .outcome(.badMessage(reason))
        // FCM does not send this status, but a proxy may.
        default: .outcome(.retry(after: retryAfter, reason))
        }
    }

    private var invalid: PushOutcome {
        let namesToken =
            fields.contains { $0 == "message.token" || $0 == "message.fid" }
            || fields.isEmpty && message.lowercased().contains("registration token")
        // FCM also refuses an invalid body with this code, so the answer is not certain.
        return namesToken ? .deadHandle(DeadHandle(isCertain: false, reason: reason)) : .badMessage(reason)
    }

    private var unavailable: PushOutcome {
        .retry(after: max(retryAfter ?? .zero, Self.unavailableWait), reason)
    }

    private var quota: PushOutcome {
        // A project's name may be anything, and Google's texts name projects.
        let isOfDevice =
            quotaSubjects.isEmpty
            ? Self.namesDevice(message) : quotaSubjects.contains { Self.isDevice($0) }
        return .throttled(isOfDevice ? .handle : .credential, after: retryAfter ?? Self.quotaWait, reason)
    }

    private static func isDevice(_ subject: String) -> Bool {
        let subject = subject.lowercased()
        return subject == "device" || subject.hasPrefix("device:") || subject.hasPrefix("device/")
    }

    /// True if a text is about a device, not about a project whose name contains the word.
    private static func namesDevice(_ text: String) -> Bool {
        let words = text.lowercased().split { !$0.isLetter && !$0.isNumber && $0 != "-" && $0 != "/" && $0 != "_" }
        return words.contains("device") && !words.contains { $0.hasPrefix("project") }
    }

    /// The codes, the refused fields, and the service's own text.
    private var reason: String {
        let codes = [code, rpcStatus == code ? nil : rpcStatus].compactMap { $0 }
        let what = codes.isEmpty ? "FCM answered \(status)" : "\(status) \(codes.joined(separator: ", "))"
        let place = fields.isEmpty ? "" : " in \(fields.joined(separator: ", "))"
        return String("\(what)\(place)\(message.isEmpty ? "" : ": \(message)")".withoutControls.prefix(200))
    }
}
