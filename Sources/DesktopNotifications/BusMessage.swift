import CSystemd
import Glibc

/// A D-Bus message, written or read sequentially.
///
/// Use it only on the thread of its connection.
final class BusMessage {
    let pointer: OpaquePointer

    /// Takes ownership of one reference.
    init(adopting pointer: OpaquePointer) { self.pointer = pointer }

    deinit { sd_bus_message_unref(pointer) }

    var sender: String? { sd_bus_message_get_sender(pointer).map { String(cString: $0) } }

    func isSignal(_ interface: String, _ member: String) -> Bool {
        sd_bus_message_is_signal(pointer, interface, member) > 0
    }

    // MARK: Writing

    /// Appends a text without NUL, which ``DesktopNotification`` guarantees.
    func append(_ text: String) throws(DesktopError) {
        try check(text.withCString { sd_bus_message_append_basic(pointer, BusType.string, $0) })
    }

    func append(_ number: UInt32) throws(DesktopError) { try append(number, BusType.uint32) }

    func append(_ number: Int32) throws(DesktopError) { try append(number, BusType.int32) }

    func append(_ number: UInt8) throws(DesktopError) { try append(number, BusType.byte) }

    private func append(_ number: some FixedWidthInteger, _ type: CChar) throws(DesktopError) {
        var number = number
        try check(sd_bus_message_append_basic(pointer, type, &number))
    }

    func append(_ texts: [String]) throws(DesktopError) {
        try container(BusType.array, "s") { () throws(DesktopError) in
            for text in texts { try append(text) }
        }
    }

    /// Appends the members of an `a{sv}`.
    func appendDictionary(_ body: () throws(DesktopError) -> Void) throws(DesktopError) {
        try container(BusType.array, "{sv}", body)
    }

    func appendMember(
        _ name: String,
        _ type: String,
        _ value: () throws(DesktopError) -> Void
    ) throws(DesktopError) {
        try container(BusType.entry, "sv") { () throws(DesktopError) in
            try append(name)
            try container(BusType.variant, type, value)
        }
    }

    private func container(
        _ type: CChar,
        _ contents: String,
        _ body: () throws(DesktopError) -> Void
    ) throws(DesktopError) {
        try check(sd_bus_message_open_container(pointer, type, contents))
        try body()
        try check(sd_bus_message_close_container(pointer))
    }

    // MARK: Reading

    func readNumber() throws(DesktopError) -> UInt32 {
        var number: UInt32 = 0
        try check(sd_bus_message_read_basic(pointer, BusType.uint32, &number))
        return number
    }

    func readText() throws(DesktopError) -> String {
        var text: UnsafePointer<CChar>?
        try check(sd_bus_message_read_basic(pointer, BusType.string, &text))
        return text.map { String(cString: $0) } ?? ""
    }

    /// Reads at most `limit` texts.
    func readTexts(limit: Int) throws(DesktopError) -> [String] {
        try check(sd_bus_message_enter_container(pointer, BusType.array, "s"))
        var texts: [String] = []
        while texts.count < limit, sd_bus_message_at_end(pointer, 0) == 0 { texts.append(try readText()) }
        return texts
    }

    private func check(_ code: Int32) throws(DesktopError) {
        if code < 0 { throw .refused("a message of the wrong form: \(String(cString: strerror(-code)))") }
    }
}

/// Source: D-Bus Specification, "Summary of types".
private enum BusType {
    static let array = CChar(UInt8(ascii: "a"))
    static let byte = CChar(UInt8(ascii: "y"))
    static let entry = CChar(UInt8(ascii: "e"))
    static let int32 = CChar(UInt8(ascii: "i"))
    static let string = CChar(UInt8(ascii: "s"))
    static let uint32 = CChar(UInt8(ascii: "u"))
    static let variant = CChar(UInt8(ascii: "v"))
}
