import FoundationEssentials
import FuzzCheck

@testable import HubProtocol

/// Reads a request to send: the first line is the content type, the second the format, the rest the body.
///
/// Every address is tried: a batch's parts, a native body in any charset, and times and expiries out of the second line.
@_cdecl("LLVMFuzzerTestOneInput")
public func readSend(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let lines = bytes.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
    let texts = lines.prefix(2).map { String(decoding: $0, as: UTF8.self) }
    let body = lines.count > 2 ? Array(lines[2]) : bytes
    let words = texts.count > 1 ? texts[1] : ""
    let headers = [
        (name: "Content-Type", value: texts.first ?? ""), (name: HeaderName.format, value: words),
        (name: HeaderName.scheduleTime, value: words), (name: HeaderName.apnsExpiry, value: words),
    ]
    for kind in [SendRequest.Kind.messages, .batch, .scheduledNotifications] {
        read(kind, headers, body)
        // A format that takes the body, so that what is behind it is reached.
        for format in ["apple", "windows", "template"] {
            let known = headers.filter { $0.name != HeaderName.format } + [(name: HeaderName.format, value: format)]
            read(kind, known, body)
        }
    }
    let text = String(decoding: body, as: UTF8.self)
    if let details = NotificationDetails(xml: text) {
        let again = NotificationDetails(xml: details.xml)
        check(again?.id == details.id && again?.outcomes == details.outcomes.filter { !$0.value.isEmpty }, "\(details)")
    }
    if let outcome = NotificationOutcome(xml: text) {
        check(NotificationOutcome(xml: outcome.xml)?.success == outcome.success, "\(outcome)")
    }
    return 0
}

private func read(_ kind: SendRequest.Kind, _ headers: [(name: String, value: String)], _ body: [UInt8]) {
    let now = Date(timeIntervalSince1970: 1_893_456_000)
    do throws(ProtocolError) {
        let request = try SendRequest(kind, headers: headers, query: "", body: body, now: now)
        let again = try SendRequest(kind, headers: headers, query: "", body: body, now: now)
        check(request == again, "a request is not equal to itself")
        check(request.message.body.count <= Message.maximumBytes * 3, "a body has grown")
        if let handles = request.message.audience.handles {
            check((1...BatchBody.maximumHandles).contains(handles.count), "\(handles.count) handles")
        }
    } catch {
        check(error.status == 400 || error.status == 413, "\(error.status)")
        checkSentence(error.detail)
    }
}
