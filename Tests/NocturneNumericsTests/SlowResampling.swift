import NocturneCore

#if canImport(Glibc)
    import Glibc
#endif

/// One voxel at a time, straight from the specification.
private func linearTaps(_ k: Int, _ n: Int, _ m: Int, nearest: Bool) -> [(index: Int, weight: Double)] {
    let u = (Double(k) + 0.5) * (Double(n) / Double(m)) - 0.5
    func clamped(_ index: Double) -> Int { min(max(Int(index), 0), n - 1) }
    if nearest { return [(clamped(floor(u + 0.5)), 1)] }
    let t = u - floor(u)
    let w0 = 1 - t
    return [(clamped(floor(u)), w0), (clamped(floor(u) + 1), 1 - w0)]
}

func slowLinear(_ image: [Float], _ source: VolumeShape, _ target: VolumeShape, _ separate: Int?) -> [Float] {
    (0..<target.count).map { index in
        let place = [index % target.x, index / target.x % target.y, index / target.sliceCount]
        let taps = (0..<3).map { linearTaps(place[$0], source[$0], target[$0], nearest: $0 == separate) }
        var sum = 0.0
        for z in taps[2] {
            for y in taps[1] {
                for x in taps[0] {
                    let value = Double(image[source.offset(x.index, y.index, z.index)])
                    sum += ((value * z.weight) * y.weight) * x.weight
                }
            }
        }
        return Float(sum)
    }
}

private let padding = 12

func slowCubic(_ image: [Float], _ source: VolumeShape, _ target: VolumeShape, _ separate: Int?) -> [Float] {
    var padded = source
    for axis in 0..<3 where axis != separate { padded[axis] += 2 * padding }
    func inSource(_ index: Int, _ axis: Int) -> Int {
        axis == separate ? index : min(max(index - padding, 0), source[axis] - 1)
    }
    var c = [Double](repeating: 0, count: padded.count)
    for k in 0..<padded.z {
        for j in 0..<padded.y {
            for i in 0..<padded.x {
                c[padded.offset(i, j, k)] = Double(
                    image[source.offset(inSource(i, 0), inSource(j, 1), inSource(k, 2))]
                )
            }
        }
    }
    for axis in [2, 1, 0] where axis != separate {
        let (a, b) = axis == 0 ? (1, 2) : axis == 1 ? (0, 2) : (0, 1)
        let step = [1, padded.x, padded.sliceCount]
        for p in 0..<padded[a] {
            for q in 0..<padded[b] {
                let start = p * step[a] + q * step[b]
                let line = slowPrefilter((0..<padded[axis]).map { c[start + $0 * step[axis]] })
                for index in line.indices { c[start + index * step[axis]] = line[index] }
            }
        }
    }
    // Of everything, or of every slice along the separate axis.
    var ranges = [(lowest: Float, highest: Float)](
        repeating: (.infinity, -.infinity),
        count: separate.map { source[$0] } ?? 1
    )
    for (at, value) in image.enumerated() {
        let from = [at % source.x, at / source.x % source.y, at / source.sliceCount]
        let slice = separate.map { from[$0] } ?? 0
        ranges[slice] = (min(ranges[slice].lowest, value), max(ranges[slice].highest, value))
    }
    return (0..<target.count).map { index in
        let place = [index % target.x, index / target.x % target.y, index / target.sliceCount]
        let taps = (0..<3).map { axis in
            axis == separate
                ? linearTaps(place[axis], source[axis], target[axis], nearest: true)
                : cubicTaps(place[axis], source[axis], target[axis])
        }
        var sum = 0.0
        for z in taps[2] {
            for y in taps[1] {
                for x in taps[0] {
                    sum += ((c[padded.offset(x.index, y.index, z.index)] * z.weight) * y.weight) * x.weight
                }
            }
        }
        let range = ranges[separate.map { taps[$0][0].index } ?? 0]
        return Float(min(max(sum, Double(range.lowest)), Double(range.highest)))
    }
}

private func cubicTaps(_ k: Int, _ n: Int, _ m: Int) -> [(index: Int, weight: Double)] {
    let u = (Double(k) + 0.5) * (Double(n) / Double(m)) - 0.5 + Double(padding)
    let t = u - floor(u)
    let q = 1 - t
    let w0 = q * q * q / 6
    let w1 = (t * t * (t - 2) * 3 + 4) / 6
    let w2 = (q * q * (q - 2) * 3 + 4) / 6
    return [w0, w1, w2, 1 - w0 - w1 - w2].enumerated().map { tap, weight in
        (min(max(Int(floor(u)) - 1 + tap, 0), n + 2 * padding - 1), weight)
    }
}

private func slowPrefilter(_ samples: [Double]) -> [Double] {
    let pole = 3.0.squareRoot() - 2
    let n = samples.count
    var c = samples.map { $0 * ((1 - pole) * (1 - 1 / pole)) }
    let power = pow(pole, Double(n))
    var sum = c[0] + power * c[n - 1]
    var factor = pole
    for i in 1..<n {
        sum += factor * (c[i] + power * c[n - 1 - i])
        factor *= pole
    }
    c[0] += sum * (pole / (1 - power * power))
    for i in 1..<n { c[i] += pole * c[i - 1] }
    c[n - 1] *= pole / (pole - 1)
    for i in (0..<n - 1).reversed() { c[i] = pole * (c[i + 1] - c[i]) }
    return c
}
