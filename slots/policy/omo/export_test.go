package omo

// Give sets F_o.
func (o *OMO) Give(frequency float64) { o.given = frequency }

// Measured returns F_o of the monitor, and the number of its windows.
func (o *OMO) Measured() (frequency float64, windows int64) {
	return o.monitor.frequency, int64(o.monitor.windows)
}

// RuleBatchFinish is the rule of batches.
const RuleBatchFinish = ruleBatchFinish
