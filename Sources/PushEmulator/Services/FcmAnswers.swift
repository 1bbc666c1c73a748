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
        guard request.method == "POST" else { throw FcmError.notFound.reply }
        guard let token = request.credentials("bearer"), isTokenValid(token, request.receivedAt) else {
            throw FcmError.unauthenticated.reply
        }
        guard let document = try? JSONReader.read(request.body), document.members != nil else {
            throw Self.refusal("", "Invalid JSON payload received.")
        }
        try FcmMessageCheck.onlyKnown(["message", "validate_only", "validateOnly"], in: document, at: "")
        guard let message = document["message"], message.members != nil else {
            throw Self.refusal("message", "Message is required.")
        }
        let target = try FcmMessageCheck.check(message)
        let limit = target.isTopic ? Self.maximumTopicPayload : Self.maximumPayload
        guard FcmMessageCheck.size(of: message) <= limit else {
            throw FcmError.invalidMessage("Android message is too big").reply
        }
        guard target.id.utf8.count <= Self.maximumHandle else { throw FcmError.invalidHandle.reply }
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
        case .dead: FcmError.unregistered.reply
        case .malformed: FcmError.invalidHandle.reply
        case .throttled(let wait): FcmError.quotaExceeded(ofProject: fault.isWholeService, wait: wait).reply
        case .unavailable(let wait): FcmError.unavailable(wait: wait).reply
        case .internalError: FcmError.internalError.reply
        case .badCredential: FcmError.permissionDenied.reply
        case .wrongTopic: FcmError.senderMismatch.reply
        case .slow, .goAway, .dropped: nil
        }
    }

    static func refusal(_ field: String, _ description: String) -> EmulatorReply {
        FcmError.badRequest(field: field, description).reply
    }
}

/// The refusals of Firebase Cloud Messaging, in Google's JSON.
enum FcmError {
    case badRequest(field: String, String)
    case invalidMessage(String)
    case invalidHandle
    case unauthenticated
    case permissionDenied
    case senderMismatch
    case unregistered
    case notFound
    case quotaExceeded(ofProject: Bool, wait: Duration)
    case internalError
    case unavailable(wait: Duration)

    var reply: EmulatorReply {
        switch self {
        case .badRequest(let field, let text):
            Self.reply(400, "INVALID_ARGUMENT", text, details: [Self.violation(field, text)])
        case .invalidMessage(let text): Self.reply(400, "INVALID_ARGUMENT", text, code: "INVALID_ARGUMENT")
        case .invalidHandle:
            Self.reply(
                400,
                "INVALID_ARGUMENT",
                "The registration token is not a valid FCM registration token",
                code: "INVALID_ARGUMENT"
            )
        case .unauthenticated:
            Self.reply(
                401,
                "UNAUTHENTICATED",
                "Request had invalid authentication credentials. Expected OAuth 2 access token.",
                [HeaderLine("www-authenticate", "Bearer realm=\"https://accounts.google.com/\"")]
            )
        case .permissionDenied:
            Self.reply(403, "PERMISSION_DENIED", "Permission 'cloudmessaging.messages.create' denied on the project")
        case .senderMismatch:
            Self.reply(403, "PERMISSION_DENIED", "SenderId mismatch", code: "SENDER_ID_MISMATCH")
        case .unregistered: Self.reply(404, "NOT_FOUND", "Requested entity was not found.", code: "UNREGISTERED")
        case .notFound: Self.reply(404, "NOT_FOUND", "Requested entity was not found.")
        case .quotaExceeded(let isProject, let wait):
            Self.reply(
                429,
                "RESOURCE_EXHAUSTED",
                isProject ? "Quota exceeded for the project." : "Message rate to the device exceeded.",
                [wait.retryAfter],
                code: "QUOTA_EXCEEDED",
                details: [Self.quotaFailure(isProject ? "project" : "device")]
            )
        case .internalError: Self.reply(500, "INTERNAL", "Internal error encountered.", code: "INTERNAL")
        case .unavailable(let wait):
            Self.reply(
                503,
                "UNAVAILABLE",
                "The service is currently unavailable.",
                [wait.retryAfter],
                code: "UNAVAILABLE"
            )
        }
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

    private static func violation(_ field: String, _ text: String) -> JSONText {
        let violation: JSONText = ["description": JSONText(text), "field": JSONText(field)]
        return ["@type": type("rpc.BadRequest"), "fieldViolations": [violation]]
    }

    private static func quotaFailure(_ subject: String) -> JSONText {
        let violation: JSONText = ["description": "Quota exceeded", "subject": JSONText(subject)]
        return ["@type": type("rpc.QuotaFailure"), "violations": [violation]]
    }

    private static func type(_ name: String) -> JSONText { JSONText("type.googleapis.com/google.\(name)") }
}
