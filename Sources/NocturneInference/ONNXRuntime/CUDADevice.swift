internal import CONNXRuntime
internal import CTileKernels
import NocturneSystem
internal import Synchronization

/// An NVIDIA GPU, as its driver describes it.
struct CUDADevice: Sendable, Equatable {
    let number: Int
    let name: String
    let totalBytes: Int
    /// Nil where it was not read.
    let freeBytes: Int?
    /// For example `580.159.04`.
    let driver: String

    /// The least free memory with which a device is used. A network of usual size takes 1 to 6 GiB; one that needs more than
    /// there is fails in its first run, and the processor takes its place.
    static let minimumBytes = 2 << 30

    /// How many devices the driver has.
    static func count() throws(EngineError) -> Int {
        var message = MessageBuffer()
        let count = message.fill { conort_device_count($0, $1) }
        guard count >= 0 else { throw .noDevice(message.text) }
        guard count > 0 else { throw .noDevice("the NVIDIA driver has no device") }
        return Int(count)
    }

    /// - Parameter readsFree: free memory is read, for which the driver takes about 0.3 s.
    init(_ number: Int, readsFree: Bool) throws(EngineError) {
        let count = try Self.count()
        guard number < count else {
            throw .noDevice("the NVIDIA driver has \(counted(count, "device")), from cuda:0 on")
        }
        var message = MessageBuffer()
        var facts = conort_device()
        guard message.fill({ conort_device_facts(Int32(number), readsFree ? 1 : 0, &facts, $0, $1) }) == 0 else {
            throw .noDevice(message.text)
        }
        self.number = number
        name = withUnsafeBytes(of: facts.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        totalBytes = Int(clamping: facts.total_bytes)
        freeBytes = readsFree ? Int(clamping: facts.free_bytes) : nil
        message.fill { conort_driver_version($0, $1) }
        driver = message.text
    }

    /// A device with enough free memory.
    static func usable(_ number: Int) throws(EngineError) -> CUDADevice {
        let device = try CUDADevice(number, readsFree: true)
        let free = device.freeBytes ?? 0
        guard free >= minimumBytes else {
            throw .noDevice(
                "\(device.name) has \(free >> 20) MiB of free memory; at least \(minimumBytes >> 20) are needed"
            )
        }
        return device
    }

    /// The version of the loaded cuDNN, such as `9.19.0`.
    static var cudnnVersion: String? {
        let number = Int(conort_cudnn())
        return number == 0 ? nil : "\(number / 10000).\(number / 100 % 100).\(number % 100)"
    }
}

extension TileDevice {
    private static let cuda = Mutex<[Int: Result<TileDevice, EngineError>]>([:])

    /// A device of the NVIDIA driver, whose kernels compute the bits of the processor; else why it cannot be used. Compiled and
    /// compared once per process.
    static func cuda(_ number: Int) -> Result<TileDevice, EngineError> {
        cuda.withLock { known in
            if let found = known[number] { return found }
            let made = Result { () throws(EngineError) in try makeCUDA(number) }
            known[number] = made
            return made
        }
    }

    private static func makeCUDA(_ number: Int) throws(EngineError) -> TileDevice {
        var (message, functions) = (MessageBuffer(), tile_device())
        guard message.fill({ conort_tiles(Int32(number), &functions, $0, $1) }) == 0 else {
            throw .noDevice(EngineError.condensed(message.text))
        }
        let device = TileDevice("cuda:\(number)", functions)
        let kernel: String?
        do {
            kernel = try device.kernel(differingFrom: .host)
        } catch {
            throw .noDevice("\(error)")
        }
        if let kernel { throw .noDevice("\(device.name) computes other values than the processor in \(kernel)") }
        return device
    }
}
