import Glibc

/// The processor time that this thread spends, whatever else the machine is busy with.
func processorTime(_ body: () throws -> Void) rethrows -> Duration {
    func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
    let start = now()
    try body()
    return now() - start
}

/// Above what a linear pass over some megabytes takes in a debug build, far below a quadratic one.
let linearTime: Duration = .seconds(20)
