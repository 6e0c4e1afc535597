/// How far two arrays of numbers are apart.
public struct ArrayDifference: CustomStringConvertible, Sendable {
    /// The largest absolute difference; infinite when the counts differ or only one side is not a number.
    public var largest = 0.0
    /// Where it is.
    public var index: Int?
    /// The root of the mean square of the differences.
    public var rootMeanSquare = 0.0
    /// The largest absolute value on the right, to judge the difference by.
    public var scale = 0.0

    public init() {}

    /// ``largest`` divided by ``scale``.
    public var relative: Double { largest == 0 ? 0 : largest / max(scale, .leastNormalMagnitude) }

    public var description: String {
        "differs by up to \(largest) (relative \(relative)) at \(index.map(String.init) ?? "-"), rms \(rootMeanSquare)"
    }
}

/// Compares numbers place by place. Inlinable: without specialisation a million numbers take a second.
@inlinable
public func difference<A: BinaryFloatingPoint, B: BinaryFloatingPoint>(
    _ left: some Collection<A>,
    _ right: some Collection<B>
) -> ArrayDifference {
    var result = ArrayDifference()
    guard left.count == right.count else {
        result.largest = .infinity
        return result
    }
    var squares = 0.0
    for (index, (a, b)) in zip(left, right).enumerated() {
        let (a, b) = (Double(a), Double(b))
        let same = a == b || (a.isNaN && b.isNaN)
        let distance = same ? 0 : (a - b).isNaN ? .infinity : abs(a - b)
        if distance > result.largest {
            result.largest = distance
            result.index = index
        }
        squares += distance * distance
        if b.isFinite { result.scale = max(result.scale, abs(b)) }
    }
    result.rootMeanSquare = left.isEmpty ? 0 : (squares / Double(left.count)).squareRoot()
    return result
}

/// Whether |a − b| ≤ absolute + relative · |b|. Not-a-number is close to nothing, infinity only to itself.
@inlinable
public func isClose<T: BinaryFloatingPoint>(_ a: T, _ b: T, absolute: T = 0, relative: T = 0) -> Bool {
    if a == b { return true }
    let distance = abs(a - b)
    return distance.isFinite && distance <= absolute + relative * abs(b)
}

/// Whether every pair of places is close in the sense of ``isClose(_:_:absolute:relative:)``.
@inlinable
public func allClose<T: BinaryFloatingPoint>(_ a: [T], _ b: [T], absolute: T = 0, relative: T = 0) -> Bool {
    a.count == b.count && zip(a, b).allSatisfy { isClose($0, $1, absolute: absolute, relative: relative) }
}

/// The number of representable floats between two finite ones.
public func unitsInLastPlace(between a: Float, and b: Float) -> Int {
    func ordered(_ value: Float) -> Int {
        let bits = Int(value.bitPattern)
        return bits & 0x8000_0000 == 0 ? bits : 0x8000_0000 - bits
    }
    return abs(ordered(a) - ordered(b))
}
