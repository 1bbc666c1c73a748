internal import CLibXML2

/// The different names of one document, which are looked up by pointers into libxml2's dictionary.
struct XMLNames {
    /// Pointers into libxml2's dictionary, which contains each string only once.
    struct Key: Equatable {
        let local: UnsafePointer<xmlChar>?
        let prefix: UnsafePointer<xmlChar>?
        let namespace: UnsafePointer<xmlChar>?

        fileprivate var mixed: UInt {
            let mixed = UInt(bitPattern: local) ^ UInt(bitPattern: namespace) &* 31 ^ UInt(bitPattern: prefix) &* 17
            return mixed &* 0x9E37_79B9_7F4A_7C15
        }
    }

    struct Name: Sendable {
        /// The name in the reader's vocabulary; several names of a document may have the same one.
        let canonical: String
        /// The number of the canonical name.
        let number: Int32
        let local: String
        let namespace: String?
    }

    /// The short name of a pair of prefix and namespace.
    private struct Space {
        let prefix: UnsafePointer<xmlChar>?
        let namespace: UnsafePointer<xmlChar>?
        let name: String
        let text: String?
    }

    /// The number of cached namespaces; documents with more are unusual, and are read more slowly.
    private static let rememberedSpaces = 16
    /// The number of names in an ordinary document.
    private static let ordinary = 48

    private let vocabulary: XMLVocabulary
    private var keys: [Key] = []
    /// Indices into ``keys``, at the slot of their hash or after it; -1 for an empty slot.
    ///
    /// The count is a power of two, and at most half of the slots are used.
    private var slots = [Int32](repeating: -1, count: 128)
    private var spaces: [Space] = []

    private(set) var list: [Name] = []
    /// True, for each number of the vocabulary, if the document has a name with that number.
    private(set) var isUsed: [Bool]
    /// The numbers of names that are not in the vocabulary.
    private(set) var others: [String: Int32] = [:]

    init(_ vocabulary: XMLVocabulary) {
        self.vocabulary = vocabulary
        isUsed = [Bool](repeating: false, count: vocabulary.numbers.count)
        keys.reserveCapacity(Self.ordinary)
        list.reserveCapacity(Self.ordinary)
    }

    /// - Returns: `nil` when the document has more names than ``XMLLimits/names``.
    mutating func index(of key: Key) -> Int32? {
        var slot = firstSlot(of: key)
        while slots[slot] >= 0 {
            if keys[Int(slots[slot])] == key { return slots[slot] }
            slot = (slot + 1) & (slots.count - 1)
        }
        guard keys.count < XMLLimits.names else { return nil }
        let index = Int32(keys.count)
        keys.append(key)
        slots[slot] = index
        if keys.count * 2 > slots.count { grow() }
        let local = key.local.map { String(cString: $0) } ?? ""
        let space = space(of: key)
        let name = vocabulary.naming(space.name, local)
        list.append(Name(canonical: name, number: number(of: name), local: local, namespace: space.text))
        return index
    }

    private func firstSlot(of key: Key) -> Int { Int(key.mixed >> 40) & (slots.count - 1) }

    private mutating func grow() {
        slots = [Int32](repeating: -1, count: slots.count * 2)
        for (index, key) in keys.enumerated() {
            var slot = firstSlot(of: key)
            while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = Int32(index)
        }
    }

    private mutating func space(of key: Key) -> Space {
        for space in spaces where space.prefix == key.prefix && space.namespace == key.namespace { return space }
        // Without `NOENT` libxml2 reports every ampersand as a reference, as it does in attributes.
        let written = key.namespace.map { String(cString: $0) }
        let text = written.map { $0.utf8.contains(UInt8(ascii: "&")) ? $0.replacing("&#38;", with: "&") : $0 }
        let space = Space(
            prefix: key.prefix,
            namespace: key.namespace,
            name: vocabulary.space(text, key.prefix.map { String(cString: $0) }),
            text: text
        )
        if spaces.count < Self.rememberedSpaces { spaces.append(space) }
        return space
    }

    private mutating func number(of name: String) -> Int32 {
        if let known = vocabulary.numbers[name] {
            isUsed[Int(known)] = true
            return known
        }
        let number = others[name] ?? Int32(vocabulary.numbers.count + others.count)
        others[name] = number
        return number
    }
}
