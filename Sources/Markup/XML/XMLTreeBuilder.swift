internal import CLibXML2

/// Builds a tree from libxml2's events of one parse.
///
/// A builder is used for one parse. It is a value behind a pointer: there is an event every twenty bytes, and each
/// access to a class's property is checked for exclusivity.
struct XMLTreeBuilder {
    enum Policy {
        /// Stops at the first fault.
        case strict
        /// Stops at the first fault, and at a document type declaration.
        case withoutDoctype
        /// Continues after faults.
        case recovering
    }

    /// The approximate number of bytes of a document for each element or text.
    private static let bytesOfNode = 32
    /// The largest number of bytes given to libxml2 at once, so that little is left to read after a stop.
    private static let bytesAtATime = 4_096
    private static let ordinaryAttributes = 16
    private static let ordinaryDepth = 16

    let vocabulary: XMLVocabulary
    private let policy: Policy
    private var context: xmlParserCtxtPtr?
    /// The document, while it is being parsed.
    private var document = UnsafeRawBufferPointer(start: nil, count: 0)
    /// Number of bytes of the document that libxml2 has been given.
    private(set) var bytesRead = 0
    /// True when the rest of the document is not needed: libxml2 gets no further input, and its events are ignored.
    private var hasStopped = false
    /// Texts that were taken out of the original document, in the order of its instructions.
    private var longTexts: [XMLLongTexts.Text] = []
    private var original: [UInt8] = []
    private var nextLongText = 0

    private(set) var nodes: [XMLTree.Node] = []
    private(set) var attributes: [XMLTree.Attribute] = []
    private(set) var bytes: [UInt8] = []
    private(set) var names: XMLNames
    private var open: [Int32] = []
    /// Number of namespaces that the open elements declare, and the declaring elements by depth.
    private var namespaces = 0
    private var declaring: [(depth: Int, count: Int)] = []
    private var namespaceDeclarations = 0
    private var instructions = 0
    private var declarations = 0
    /// Number of bytes of the text that is being read.
    private var textBytes = 0

    private(set) var fault: XMLSyntaxError?
    /// The first undeclared prefix, which does not make the document malformed but should be corrected.
    private(set) var namespaceFault: XMLSyntaxError?
    private(set) var reachedLimit = false
    /// True after a reference to an entity that XML itself does not define, or a declaration of attributes.
    private(set) var needsDeclarations = false

    init(_ vocabulary: XMLVocabulary, policy: Policy) {
        self.vocabulary = vocabulary
        self.policy = policy
        names = XMLNames(vocabulary)
    }

    var hasRoot: Bool { !nodes.isEmpty }

    func tree(fault: XMLSyntaxError?, isComplete: Bool) -> XMLTree {
        XMLTree(self, fault: fault, isComplete: isComplete && nodes.first?.isClosed == true)
    }

    /// Parses a document once; `texts` are those that ``XMLLongTexts`` took out of the original.
    ///
    /// libxml2 asks for the document in parts. A parse that must stop is given no more of them and ends on its own:
    /// `xmlStopParser` would free the buffer that libxml2 continues to read when a callback returns.
    mutating func parse(_ utf8: [UInt8], texts: [XMLLongTexts.Text] = [], of original: [UInt8] = []) {
        guard let context = xmlNewParserCtxt() else {
            reachedLimit = true
            return
        }
        defer { xmlFreeParserCtxt(context) }
        longTexts = texts
        self.original = original
        bytes.reserveCapacity(max(utf8.count, original.count))
        nodes.reserveCapacity(min(utf8.count / Self.bytesOfNode, XMLLimits.nodes))
        attributes.reserveCapacity(Self.ordinaryAttributes)
        open.reserveCapacity(Self.ordinaryDepth)
        self.context = context
        // Without NOENT, DTDLOAD and HUGE: entities are not expanded, no DTD is read, and libxml2's limits apply.
        var options = XML_PARSE_NONET.rawValue | XML_PARSE_NOWARNING.rawValue | XML_PARSE_IGNORE_ENC.rawValue
        if policy == .recovering { options |= XML_PARSE_RECOVER.rawValue }
        withUnsafeMutablePointer(to: &self) { builder in
            XMLCallbacks.install(in: context, for: builder)
            utf8.withUnsafeBytes { buffer in
                builder.pointee.document = buffer
                let document = xmlCtxtReadIO(context, XMLCallbacks.read, nil, builder, nil, nil, Int32(options))
                if let document { xmlFreeDoc(document) }
                builder.pointee.document = UnsafeRawBufferPointer(start: nil, count: 0)
            }
        }
        endText()
        self.context = nil
    }

    /// Copies the next bytes of the document; none after its end or a stop.
    ///
    /// - Returns: Number of bytes.
    mutating func read(into buffer: UnsafeMutableRawPointer, count: Int) -> Int {
        guard !hasStopped else { return 0 }
        let piece = document[bytesRead...].prefix(min(count, Self.bytesAtATime))
        UnsafeMutableRawBufferPointer(start: buffer, count: count).copyBytes(from: piece)
        bytesRead += piece.count
        return piece.count
    }

    // MARK: Events

    /// Counts the namespaces that the next element declares.
    mutating func declareNamespaces(_ count: Int) {
        guard !hasStopped else { return }
        namespaces += count
        namespaceDeclarations += count
        declaring.append((open.count, count))
        if namespaces > XMLLimits.namespaces {
            stop("more than \(XMLLimits.namespaces) namespaces are declared inside one another")
        } else if namespaceDeclarations > XMLLimits.namespaceDeclarations {
            stop("the document declares namespaces more than \(XMLLimits.namespaceDeclarations) times")
        }
    }

    mutating func start(
        _ local: UnsafePointer<xmlChar>?,
        _ prefix: UnsafePointer<xmlChar>?,
        _ namespace: UnsafePointer<xmlChar>?,
        attributeCount: Int,
        _ values: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?
    ) {
        guard !hasStopped else { return }
        endText()
        guard open.count < XMLLimits.depth else { return stop("elements are nested deeper than \(XMLLimits.depth)") }
        guard let name = index(of: XMLNames.Key(local: local, prefix: prefix, namespace: namespace)) else { return }
        let first = attributes.count
        for number in 0..<attributeCount {
            guard let values, let start = values[5 * number + 3], let end = values[5 * number + 4] else { continue }
            let key = XMLNames.Key(
                local: values[5 * number],
                prefix: values[5 * number + 1],
                namespace: values[5 * number + 2]
            )
            guard let name = index(of: key) else { return }
            attributes.append(XMLTree.Attribute(name: name, value: appendValue(start, end)))
        }
        guard let node = append(name: name, start: first, count: attributes.count - first) else { return }
        open.append(node)
    }

    mutating func end() {
        guard !hasStopped else { return }
        endText()
        guard let node = open.popLast() else { return }
        if let last = declaring.last, last.depth == open.count {
            namespaces -= last.count
            declaring.removeLast()
        }
        nodes[Int(node)].isClosed = true
    }

    /// Adds a part of a text, which may arrive in hundreds of parts; the node is created at the end of the text.
    mutating func text(_ start: UnsafePointer<xmlChar>, count: Int) {
        guard !hasStopped, !open.isEmpty else { return }
        let kept = max(0, min(count, XMLLimits.fieldBytes - textBytes))
        bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: kept))
        textBytes += kept
    }

    mutating func instruction(_ target: UnsafePointer<xmlChar>) {
        guard !hasStopped else { return }
        guard nextLongText < longTexts.count, String(cString: target) == XMLLongTexts.target else {
            instructions += 1
            guard instructions > XMLLimits.instructions else { return }
            return stop("the document has more than \(XMLLimits.instructions) processing instructions")
        }
        guard !open.isEmpty else {
            record("text outside the root element", line: 1)
            return stop()
        }
        let text = longTexts[nextLongText]
        nextLongText += 1
        original.withUnsafeBufferPointer { append(text, in: $0) }
    }

    private mutating func append(_ text: XMLLongTexts.Text, in original: UnsafeBufferPointer<UInt8>) {
        guard let base = original.baseAddress else { return }
        guard text.isEscaped else { return self.text(base + text.range.lowerBound, count: text.range.count) }
        let end = text.range.upperBound
        var position = text.range.lowerBound
        while let ampersand = original.position(of: 0x26, from: position, to: end) {
            self.text(base + position, count: ampersand - position)
            guard let (scalar, length) = XMLLongTexts.reference(in: original, at: ampersand, to: end) else { return }
            if textBytes < XMLLimits.fieldBytes {
                let count = bytes.count
                bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                textBytes += bytes.count - count
            }
            position = ampersand + length
        }
        self.text(base + position, count: end - position)
    }

    private mutating func endText() {
        guard textBytes > 0 else { return }
        let count = textBytes
        textBytes = 0
        _ = append(name: -1, start: bytes.count - count, count: count)
    }

    mutating func entity(_ name: UnsafePointer<xmlChar>?) -> xmlEntityPtr? {
        if let predefined = xmlGetPredefinedEntity(name) { return predefined }
        if !hasStopped { needsDeclarations = true }
        return nil
    }

    /// Counts the declaration of an entity, an element or a notation.
    mutating func declaration() {
        guard !hasStopped else { return }
        declarations += 1
        guard declarations > XMLLimits.declarations else { return }
        needsDeclarations = true
        stop()
    }

    /// Notes a declaration of attributes; libxml2 would add defaults to every tag, each compared with all others.
    mutating func attributeDeclaration() {
        guard !hasStopped else { return }
        needsDeclarations = true
        stop()
    }

    mutating func doctype() {
        guard !hasStopped, policy == .withoutDoctype else { return }
        record("a document type declaration is not allowed", line: context.map { Int(xmlSAX2GetLineNumber($0)) } ?? 1)
        stop()
    }

    mutating func report(_ error: UnsafePointer<xmlError>) {
        // After a stop, libxml2 reports the end of its input; that is not a fault of the document.
        guard !hasStopped else { return }
        let code = UInt32(bitPattern: error.pointee.code)
        guard error.pointee.level == XML_ERR_FATAL || code == XML_NS_ERR_UNDEFINED_NAMESPACE.rawValue else { return }
        let message = Self.sentence(error.pointee.message.map { String(cString: $0) } ?? "not well-formed")
        guard error.pointee.level == XML_ERR_FATAL else {
            if namespaceFault == nil { namespaceFault = XMLSyntaxError(line: Int(error.pointee.line), reason: message) }
            return
        }
        record(message, line: Int(error.pointee.line))
        if policy != .recovering { stop() }
    }

    // MARK: Building

    private mutating func append(name: Int32, start: Int, count: Int) -> Int32? {
        guard nodes.count < XMLLimits.nodes else {
            stop("the document has more than \(XMLLimits.nodes) elements and texts")
            return nil
        }
        let index = Int32(nodes.count)
        let parent = open.last ?? -1
        nodes.append(XMLTree.Node(name: name, parent: parent, start: start, count: count))
        guard parent >= 0 else { return index }
        let last = nodes[Int(parent)].lastChild
        if last >= 0 { nodes[Int(last)].next = index } else { nodes[Int(parent)].firstChild = index }
        nodes[Int(parent)].lastChild = index
        return index
    }

    /// Appends an attribute's value; without `NOENT` libxml2 reports every ampersand of it as `&#38;`.
    private mutating func appendValue(_ start: UnsafePointer<xmlChar>, _ end: UnsafePointer<xmlChar>) -> Range<Int> {
        let first = bytes.count
        let value = UnsafeBufferPointer(start: start, count: min(end - start, XMLLimits.fieldBytes))
        var rest = value[...]
        while let ampersand = rest.firstIndex(of: 0x26) {
            bytes.append(contentsOf: rest[...ampersand])
            rest = rest[(ampersand + 1)...]
            if rest.starts(with: "#38;".utf8) { rest = rest.dropFirst(4) }
        }
        bytes.append(contentsOf: rest)
        return first..<bytes.count
    }

    private mutating func index(of key: XMLNames.Key) -> Int32? {
        let index = names.index(of: key)
        if index == nil { stop("the document uses more than \(XMLLimits.names) different names") }
        return index
    }

    private mutating func stop(_ limit: String) {
        reachedLimit = true
        record(limit, line: context.map { Int(xmlSAX2GetLineNumber($0)) } ?? 1)
        stop()
    }

    private mutating func stop() { hasStopped = true }

    private mutating func record(_ reason: String, line: Int) {
        if fault == nil { fault = XMLSyntaxError(line: max(1, line), reason: reason) }
    }

    /// A reason from libxml2's message, which ends in a line break, begins with a capital and may quote the document.
    private static func sentence(_ message: String) -> String {
        let line = PlainText.clean(message, limit: 200)
        return line.hasPrefix("XML") ? line : line.prefix(1).lowercased() + line.dropFirst()
    }
}
