/// Rewrites a malformed document as a well-formed one, keeping the text that its author meant.
///
/// It escapes stray `&` and `<`, writes entities as numbers, and quotes and de-duplicates attributes. It drops end tags
/// that match nothing, and closes open elements where their parent, or the next record, ends them. Elements that are
/// open at the end of the input stay open, which distinguishes a truncated document from a careless one. It works in
/// one pass, linear in the input.
struct XMLRepair {
    /// The number of bytes at the beginning of a document that are searched for its root.
    private static let searchedBytes = 65_536
    private static let htmlVoid: Set<String> = ["br", "hr", "img", "input", "meta", "wbr"]

    private var input: XMLRepairInput
    private let vocabulary: XMLVocabulary
    private let knowsRoot: Bool
    private var references: XMLTextNormalizer
    private var open: [ArraySlice<UInt8>] = []
    private var openRecord: Int?
    private var sawRootEnd = false

    private(set) var output: [UInt8] = []
    private(set) var isComplete = false

    init(_ bytes: [UInt8], vocabulary: XMLVocabulary) {
        input = XMLRepairInput(bytes)
        self.vocabulary = vocabulary
        references = XMLTextNormalizer()
        knowsRoot = Self.findsRoot(in: bytes.prefix(Self.searchedBytes), names: vocabulary.roots)
        output.reserveCapacity(bytes.count + bytes.count / 16)
    }

    mutating func run() {
        while let byte = input.current {
            guard byte == 0x3C else {
                takeText()
                continue
            }
            guard takeMarkup() else { return }
        }
        guard sawRootEnd, open.count == 1 else { return }
        close(downTo: 0)
        isComplete = true
    }

    /// - Returns: False when the document ends inside the markup, or a limit is reached.
    private mutating func takeMarkup() -> Bool {
        if input.skip("<!--") { return input.skip(past: "-->") }
        if input.skip("<![CDATA[") {
            guard let text = input.take(upTo: "]]>") else { return false }
            if acceptsContent { XMLTextNormalizer.appendLiteral(text, to: &output) }
            return true
        }
        if input.skip("<!DOCTYPE") || input.skip("<!doctype") { return references.takeDoctype(&input) }
        if input.skip("<!") { return input.skip(past: ">") }
        // Skip to the first `>`: many declarations lack the second question mark.
        if input.skip("<?") { return input.skip(past: ">") }
        if input.peek(1) == 0x2F { return takeEndTag() }
        return takeStartTag()
    }

    /// False before the root and after its end.
    private var acceptsContent: Bool { open.count > 1 || (open.count == 1 && !sawRootEnd) }

    private mutating func takeText() {
        let text = input.takeText()
        if acceptsContent { references.appendText(text, to: &output) }
    }

    private mutating func takeEndTag() -> Bool {
        input.advance(2)
        guard let tag = input.take(upTo: ">") else { return false }
        let name = tag.prefix { !XMLRepairInput.isSpace($0) }
        guard let match = open.lastIndex(where: { Self.isSame($0, name) }) else { return true }
        if match == 0 {
            close(downTo: 1)
            sawRootEnd = true
        } else {
            close(downTo: match)
        }
        return true
    }

    private mutating func takeStartTag() -> Bool {
        let start = input.position
        input.advance(1)
        let name = input.takeName()
        guard !name.isEmpty, input.current.map(XMLRepairInput.endsName) ?? true else {
            input.position = start + 1
            if acceptsContent { output += "&#60;".utf8 }
            return true
        }
        guard let tag = input.takeAttributes() else { return false }
        let local = Self.localName(name)
        if open.isEmpty, knowsRoot, !vocabulary.roots.contains(local) { return true }
        let isRecord = vocabulary.records.contains(local)
        if open.count == 1, sawRootEnd, !isRecord { return true }
        if isRecord { closeForRecord(name) }
        guard open.count < XMLLimits.depth else { return false }
        output.append(0x3C)
        output += name
        for attribute in tag.attributes {
            output.append(0x20)
            output += attribute.name
            output += "=\"".utf8
            references.appendText(attribute.value, to: &output)
            output.append(0x22)
        }
        if tag.isEmptyElement && !open.isEmpty || Self.htmlVoid.contains(local) {
            output += "/>".utf8
            return true
        }
        output.append(0x3E)
        if isRecord, openRecord == nil { openRecord = open.count }
        open.append(name)
        if tag.isEmptyElement { sawRootEnd = true }
        return true
    }

    /// Closes an open record with this name, or else all open elements inside the container of records.
    private mutating func closeForRecord(_ name: ArraySlice<UInt8>) {
        if let openRecord {
            if Self.isSame(open[openRecord], name) { close(downTo: openRecord) }
        } else if let container = open.lastIndex(where: { vocabulary.containers.contains(Self.localName($0)) }) {
            close(downTo: container + 1)
        }
    }

    private mutating func close(downTo depth: Int) {
        while open.count > depth, let name = open.popLast() {
            output += "</".utf8
            output += name
            output.append(0x3E)
        }
        if let openRecord, openRecord >= open.count { self.openRecord = nil }
    }

    private static func isSame(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { $0 == $1 || ($0 | 0x20 == $1 | 0x20 && $0 >= 0x41) }
    }

    private static func localName(_ name: ArraySlice<UInt8>) -> String {
        let start = name.lastIndex(of: 0x3A).map { $0 + 1 } ?? name.startIndex
        return String(decoding: name[start...], as: UTF8.self).lowercased()
    }

    private static func findsRoot(in bytes: ArraySlice<UInt8>, names: Set<String>) -> Bool {
        bytes.indices.contains { index in
            guard bytes[index] == 0x3C else { return false }
            let name = bytes[(index + 1)...].prefix(64).prefix { XMLRepairInput.isNameByte($0) }
            return !name.isEmpty && names.contains(localName(name))
        }
    }
}
