public import NocturneSystem
internal import Synchronization

/// Where networks run: the value of `--device`.
///
/// Engines read it from the environment variable ``variable``.
public enum InferenceDevice: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// A GPU if an engine can use one, else the processor.
    case auto
    case cpu
    /// An NVIDIA GPU by the driver's number, counted from 0.
    case cuda(Int)

    /// The environment variable that names the device.
    public static let variable = "NOCTURNE_DEVICE"

    /// The environment variable with the number of tiles of which one is computed on the processor too.
    public static let recheckVariable = "NOCTURNE_RECHECK"

    /// One tile in this number is computed on the processor too, where nothing else is asked for.
    public static let defaultRecheck = 500

    /// Nil if the value is none of `auto`, `cpu`, `cuda` and `cuda:N`.
    public init?(rawValue: String) {
        let parts = rawValue.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        switch (parts.first, parts.count) {
        case ("auto", 1): self = .auto
        case ("cpu", 1): self = .cpu
        case ("cuda", 1): self = .cuda(0)
        case ("cuda", 2):
            guard let number = Int(parts[1]), (0..<1024).contains(number), parts[1] == "\(number)" else { return nil }
            self = .cuda(number)
        default: return nil
        }
    }

    /// The value of `--device`.
    public var rawValue: String {
        switch self {
        case .auto: "auto"
        case .cpu: "cpu"
        case .cuda(let number): "cuda:\(number)"
        }
    }

    /// The same as ``rawValue``.
    public var description: String { rawValue }

    /// All forms, for help and messages.
    public static let list = "auto, cpu, cuda or cuda:N"

    /// Of an environment; ``auto`` where it names none, or none that is known.
    public init(environment: [String: String]) {
        self = environment[Self.variable].flatMap(Self.init) ?? .auto
    }

    /// Whether a device other than the processor is demanded.
    public var isDemanded: Bool { if case .cuda = self { true } else { false } }
}

/// A device that failed during a run, or computed other values than the processor. It is no longer used by this process:
/// the same run again goes to the processor.
public struct DeviceFault: RepeatableFault, Equatable, CustomStringConvertible {
    /// For example `cuda:0`.
    public let device: String
    /// What was seen.
    public let reason: String
    /// The items whose networks ran on the device after its last good check; none where it failed without other values.
    public var doubted: [String] = []

    /// `engine.device`
    public var faultCode: FaultCode { .device }
    /// For people: the device and the reason.
    public var description: String { "\(device) failed: \(reason)" }
}

/// Whether a device is still used by this process, and which results are not proved yet. Shared by all networks that run on
/// it.
package final class DeviceState: Sendable {
    private struct Work {
        var fault: String?
        /// Networks that have run since their last good check.
        var unproved: Set<ObjectIdentifier> = []
        /// Items that ended meanwhile, with those networks.
        var items: [(name: String, networks: Set<ObjectIdentifier>)] = []
    }

    let device: String
    private let work = Mutex(Work())

    /// - Parameter device: the name for messages, such as `cuda:0 (NVIDIA H200)`.
    package init(_ device: String) { self.device = device }

    /// Why the device is no longer used; nil while it is.
    package var fault: String? { work.withLock { $0.fault } }

    /// A network has run, and was not checked.
    func ran(_ network: AnyObject) { work.withLock { _ = $0.unproved.insert(ObjectIdentifier(network)) } }

    /// A run of the network was checked: what it has computed before is proved, too.
    func proved(_ network: AnyObject) {
        let id = ObjectIdentifier(network)
        work.withLock { work in
            work.unproved.remove(id)
            for index in work.items.indices { work.items[index].networks.remove(id) }
            work.items.removeAll { $0.networks.isEmpty }
        }
    }

    /// The inference of an item has ended.
    func ended(_ item: String) {
        work.withLock { work in
            if work.fault == nil, !work.unproved.isEmpty { work.items.append((item, work.unproved)) }
        }
    }

    /// Ends the use of the device. Only the first reason is kept.
    /// - Parameter isWrong: whether the device computed other values than the processor.
    func end(_ reason: String, isWrong: Bool) -> DeviceFault {
        work.withLock { work in
            work.fault = work.fault ?? reason
            defer { work.items = [] }
            return DeviceFault(device: device, reason: reason, doubted: isWrong ? work.items.map(\.name) : [])
        }
    }
}
