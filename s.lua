wrk.method='POST' wrk.headers['content-type']='application/json'
wrk.body='{"order_id":"A-1","total":180,"customer":"c"}'
