import HubStore

/// Requests of one node that travel in one message; their numbers follow each other.
struct RequestBatch: Equatable {
    let first: UInt64
    let requests: [[UInt8]]
}

extension RequestBatch {
    var encoded: [UInt8] {
        var writer = EntryWriter()
        writer.append(number: first)
        writer.append(list: requests) { $0.append(counted: $1) }
        return writer.bytes
    }

    /// - Throws: `LogEntryError` for bytes that are not a batch.
    init(encoded bytes: [UInt8]) throws(LogEntryError) {
        var reader = EntryReader(bytes)
        first = try reader.number()
        requests = try reader.list { reader throws(LogEntryError) in Array(try reader.counted()) }
        guard reader.isAtEnd else { throw .damaged("it is too long") }
        guard first <= UInt64.max - UInt64(requests.count) else { throw .damaged("a number is too large") }
    }
}

/// Answers to requests of one node that travel in one message.
struct AnswerBatch: Equatable {
    struct Answer: Equatable {
        let number: UInt64
        /// `nil` for an answer that is larger than a message may be.
        let data: [UInt8]?
    }

    let answers: [Answer]

    init(_ answers: [Answer]) { self.answers = answers }

    var encoded: [UInt8] {
        var writer = EntryWriter()
        writer.append(list: answers) { writer, answer in
            writer.append(number: answer.number)
            writer.append(answer.data == nil ? 0 : 1)
            if let data = answer.data { writer.append(counted: data) }
        }
        return writer.bytes
    }

    /// - Throws: `LogEntryError` for bytes that are not a batch.
    init(encoded bytes: [UInt8]) throws(LogEntryError) {
        var reader = EntryReader(bytes)
        answers = try reader.list { reader throws(LogEntryError) in
            let number = try reader.number()
            return Answer(number: number, data: try reader.byte() == 0 ? nil : Array(try reader.counted()))
        }
        guard reader.isAtEnd else { throw .damaged("it is too long") }
    }
}

extension Array {
    /// Consecutive parts whose sizes together are at most `limit`; a larger element has a part of its own.
    func split(atMost limit: Int, size: (Element) -> Int) -> [ArraySlice<Element>] {
        var (parts, start, sum): ([ArraySlice<Element>], Int, Int) = ([], 0, 0)
        for (index, element) in enumerated() {
            let bytes = size(element)
            if index > start, sum + bytes > limit {
                parts.append(self[start..<index])
                (start, sum) = (index, 0)
            }
            sum += bytes
        }
        if start < count { parts.append(self[start...]) }
        return parts
    }
}
