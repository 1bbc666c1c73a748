import Formats
import Foundation
import HubProtocol

/// Answers of Firebase Cloud Messaging, HTTP v1.
///
/// Source: Google, "REST Resource: projects.messages" and "ErrorCode".
struct FcmAnswers: PushAnswers {
    static let pathStart = "/v1/projects/"
    static let pathEnd = "/messages:send"
    /// Bytes of keys and values.
    private static let maximumPayload = 4_096
    private static let maximumTopicPayload = 2_048
    private static let maximumHandle = 4_096

    let isTokenValid: @Sendable (Substring, Timestamp) -> Bool

    func check(_ request: EmulatorRequest) throws(EmulatorReply) -> AcceptedPush {
        guard request.method == "POST" else { throw FcmRefusal.notFound }
        guard let token = request.credentials("bearer"), isTokenValid(token, request.receivedAt) else {
            throw FcmRefusal.unauthenticated
        }
        guard let document = try? JSONReader.read(request.body), document.members != nil else {
            throw FcmRefusal.badRequest("", "Invalid JSON payload received.")
        }
        try FcmMessageCheck.onlyKnown(["message", "validate_only", "validateOnly"], in: document, at: "")
        guard let message = document["message"], message.members != nil else {
            throw FcmRefusal.badRequest("message", "Message is required.")
        }
        let target = try FcmMessageCheck.check(message)
        let limit = target.isTopic ? Self.maximumTopicPayload : Self.maximumPayload
        guard FcmMessageCheck.size(of: message) <= limit else {
            throw FcmRefusal.invalidMessage("Android message is too big")
        }
        guard target.id.utf8.count <= Self.maximumHandle else { throw FcmRefusal.invalidHandle }
        let project = request.path.dropFirst(Self.pathStart.count).dropLast(Self.pathEnd.count)
        let isOnlyValidated = document["validate_only", "validateOnly"]?.isTrue ?? false
        let random = String(UInt64.random(in: .min ... .max), radix: 16)
        let name =
            "projects/\(project)/messages/"
            + (isOnlyValidated ? "fake_message_id" : "0:\(request.receivedAt.milliseconds)%\(random)")
        return AcceptedPush(
            device: isOnlyValidated ? nil : EmulatedDevice(service: .fcm, id: target.id),
            messageID: name,
            reply: EmulatorReply(200, json: ["name": JSONText(name)]),
            collapseKey: message["android"]?["collapse_key", "collapseKey"]?.string
        )
    }

    func reply(to push: AcceptedPush, _ request: EmulatorRequest, _ fault: FaultScript.MetFault) -> EmulatorReply? {
        switch fault.effect {
        case .dead: FcmRefusal.unregistered
        case .malformed: FcmRefusal.invalidHandle
        case .throttled(let wait): FcmRefusal.quotaExceeded(ofProject: fault.isWholeService, wait: wait)
        case .unavailable(let wait): FcmRefusal.unavailable(wait: wait)
        case .internalError: FcmRefusal.internalError
        case .badCredential: FcmRefusal.permissionDenied
        case .wrongTopic: FcmRefusal.senderMismatch
        case .slow, .goAway, .dropped: nil
        }
    }
}

/// The refusals of Firebase Cloud Messaging, in Google's JSON.
enum FcmRefusal {
    static let invalidHandle = invalidMessage("The registration token is not a valid FCM registration token")
    static let unauthenticated = reply(
        401,
        "UNAUTHENTICATED",
        "Request had invalid authentication credentials. Expected OAuth 2 access token.",
        [HeaderLine("www-authenticate", "Bearer realm=\"https://accounts.google.com/\"")]
    )
    static let permissionDenied = reply(
        403,
        "PERMISSION_DENIED",
        "Permission 'cloudmessaging.messages.create' denied on the project"
    )
    static let senderMismatch = reply(403, "PERMISSION_DENIED", "SenderId mismatch", code: "SENDER_ID_MISMATCH")
    static let unregistered = reply(404, "NOT_FOUND", "Requested entity was not found.", code: "UNREGISTERED")
    static let notFound = reply(404, "NOT_FOUND", "Requested entity was not found.")
    static let internalError = reply(500, "INTERNAL", "Internal error encountered.", code: "INTERNAL")

    static func badRequest(_ field: String, _ text: String) -> EmulatorReply {
        let violation: JSONText = ["description": JSONText(text), "field": JSONText(field)]
        let detail: JSONText = ["@type": type("rpc.BadRequest"), "fieldViolations": [violation]]
        return reply(400, "INVALID_ARGUMENT", text, details: [detail])
    }

    static func invalidMessage(_ text: String) -> EmulatorReply {
        reply(400, "INVALID_ARGUMENT", text, code: "INVALID_ARGUMENT")
    }

    static func quotaExceeded(ofProject isProject: Bool, wait: Duration) -> EmulatorReply {
        let subject = isProject ? "project" : "device"
        let violation: JSONText = ["description": "Quota exceeded", "subject": JSONText(subject)]
        return reply(
            429,
            "RESOURCE_EXHAUSTED",
            isProject ? "Quota exceeded for the project." : "Message rate to the device exceeded.",
            [wait.retryAfter],
            code: "QUOTA_EXCEEDED",
            details: [["@type": type("rpc.QuotaFailure"), "violations": [violation]]]
        )
    }

    static func unavailable(wait: Duration) -> EmulatorReply {
        let text = "The service is currently unavailable."
        return reply(503, "UNAVAILABLE", text, [wait.retryAfter], code: "UNAVAILABLE")
    }

    private static func reply(
        _ status: Int,
        _ name: String,
        _ message: String,
        _ headers: [HeaderLine] = [],
        code: String? = nil,
        details: [JSONText] = []
    ) -> EmulatorReply {
        let own: [JSONText] =
            code.map { [["@type": type("firebase.fcm.v1.FcmError"), "errorCode": JSONText($0)]] } ?? []
        let error: JSONText = [
            "code": JSONText(status), "message": JSONText(message), "status": JSONText(name),
            "details": JSONText(array: own + details).unlessEmpty,
        ]
        return EmulatorReply(status, headers, json: ["error": error])
    }

    private static func type(_ name: String) -> JSONText { JSONText("type.googleapis.com/google.\(name)") }
}
