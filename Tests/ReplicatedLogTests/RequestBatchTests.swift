import Dispatch
import HubStore
import Synchronization
import Testing

@testable import ReplicatedLog

struct RequestBatchTests {
    @Test func `batches are read as they were written, and refused when they are cut off`() throws {
        let requests = RequestBatch(first: 300, requests: [[1, 2], [], [0xFF]])
        #expect(try RequestBatch(encoded: requests.encoded) == requests)
        let answers = AnswerBatch([
            .init(number: 1, data: []), .init(number: 700, data: nil), .init(number: .max, data: [7, 8]),
        ])
        #expect(try AnswerBatch(encoded: answers.encoded) == answers)
        for count in requests.encoded.indices {
            let cut = Array(requests.encoded.prefix(count))
            #expect(throws: LogEntryError.self) { try RequestBatch(encoded: cut) }
        }
        for count in answers.encoded.indices {
            let cut = Array(answers.encoded.prefix(count))
            #expect(throws: LogEntryError.self) { try AnswerBatch(encoded: cut) }
        }
        #expect(throws: LogEntryError.self) { try RequestBatch(encoded: requests.encoded + [0]) }
        #expect(throws: LogEntryError.self) { try AnswerBatch(encoded: answers.encoded + [0]) }
        let beyond = RequestBatch(first: .max, requests: [[1]])
        #expect(throws: LogEntryError.self) { try RequestBatch(encoded: beyond.encoded) }
    }

    @Test(arguments: [
        ([], []),
        ([4], [[4]]),
        ([3, 3, 3], [[3, 3], [3]]),
        ([9, 1, 6, 9], [[9], [1], [6], [9]]),
        ([0, 0, 6, 1], [[0, 0, 6], [1]]),
    ])
    func `a list is split into parts of a limited size`(_ sizes: [Int], _ parts: [[Int]]) {
        #expect(sizes.split(atMost: 6) { $0 }.map(Array.init) == parts)
    }

    @Test func `what is added while a message is sent goes into the next one`() async {
        let queue = DispatchQueue(label: "test")
        let sent = Mutex<[String: [[Int]]]>([:])
        let (flushes, flushed) = AsyncStream<Void>.makeStream()
        let outbox = Outbox<Int>(queue) { subject, items in
            sent.withLock { $0[subject, default: []].append(items) }
            flushed.yield()
        }
        queue.suspend()
        for number in 1...5 { outbox.add(number, to: number == 4 ? "b" : "a") }
        queue.resume()
        var flush = flushes.makeAsyncIterator()
        for _ in 0..<2 { _ = await flush.next() }
        #expect(sent.withLock { $0 } == ["a": [[1, 2, 3, 5]], "b": [[4]]])
        outbox.add(6, to: "a")
        _ = await flush.next()
        #expect(sent.withLock { $0["a"] } == [[1, 2, 3, 5], [6]])
    }
}
