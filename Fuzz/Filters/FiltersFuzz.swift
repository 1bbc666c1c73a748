import FuzzCheck

@testable import HubProtocol

/// Reads the parameters of a list of registrations: a filter, a page's size, a continuation token, and an entity tag.
@_cdecl("LLVMFuzzerTestOneInput")
public func readParameters(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    checkFilter(text)
    if let size = try? PageSize(top: text) { check((1...PageSize.maximum).contains(size.count), "\(size.count)") }
    if let token = try? ContinuationToken(parsing: text) {
        check((try? ContinuationToken(parsing: token.text)) == token, token.position)
    }
    check((try? ContinuationToken(parsing: ContinuationToken(position: text).text))?.position == tokenText(text), text)
    let condition = ETagCondition(ifMatch: text)
    check((try? condition.check(3)) == nil || condition == .none || text.contains("3") || text.contains("*"), text)
    return 0
}

/// A handle that is written the standard way is read as it is.
private func checkFilter(_ text: String) {
    let filter: HandleFilter
    do throws(ProtocolError) {
        filter = try HandleFilter(parsing: text)
    } catch {
        return check(error.status == 400 && error.detail.hasPrefix("$filter"), error.detail)
    }
    check((1...2).contains(filter.handles.count), "\(filter.handles)")
    let handle = filter.handles[0]
    // A browser is matched by more than its handle, and the JSON of one is not escaped once more.
    guard filter.p256dh == nil, filter.auth == nil else { return }
    let again = try? HandleFilter(parsing: "ChannelUri eq '\(handle.replacing("'", with: "''"))'")
    check(again?.handles == filter.handles || handle.hasPrefix("{") || again == nil, "\(filter.handles)")
    check(filter.matches(.handle(handle)), handle)
}

/// What a token may hold: it is not read beyond its limit, and an empty position is none.
private func tokenText(_ text: String) -> String? {
    text.isEmpty || ContinuationToken(position: text).text.utf8.count > ContinuationToken.maximumLength ? nil : text
}
